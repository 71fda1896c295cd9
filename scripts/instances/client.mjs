import { setTimeout as pause } from 'node:timers/promises';

/** @typedef {{ status: number, headers: Headers, text: string }} Answer */

/** For machines that do much else at the same time. */
const PATIENCE_MS = 30_000;
const BUSY = 503;
const STILL_RUNNING = 409;

/**
 * @param {string} url
 * @param {{ body?: unknown, key?: string }} [request]
 * @returns {Promise<Answer>}
 */
export async function ask(url, { body, key } = {}) {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/**
 * What a client behind a balancer does: asks the next instance, under the same key, until it has an answer.
 * @param {readonly string[]} urls
 * @param {{ body: unknown, key: string }} request
 * @param {readonly number[]} again what is no answer yet, besides 503
 * @returns {Promise<Answer & { failures: string[] }>}
 */
export async function askUntilAnswered(urls, request, again = [STILL_RUNNING]) {
  const deadline = Date.now() + PATIENCE_MS;
  /** @type {string[]} */
  const failures = [];
  for (;;) {
    const url = /** @type {string} */ (urls[failures.length % urls.length]);
    const answer = await ask(url, request).catch(reasonOf);
    if (typeof answer === 'object' && ![BUSY, ...again].includes(answer.status)) return { ...answer, failures };
    failures.push(typeof answer === 'object' ? `${answer.status} ${answer.text}` : answer);
    if (Date.now() > deadline) throw new Error(`no answer: ${failures.at(-1)}`);
    await pause(20);
  }
}

/** Of a failed fetch the cause tells more than the error. @param {unknown} error */
function reasonOf(error) {
  const cause = error instanceof Error ? error.cause : undefined;
  return String(cause instanceof Error ? cause.message : error);
}

/** @param {Answer} answer @param {number} status */
export function expectStatus({ status: actual, text }, status) {
  if (actual !== status) throw new Error(`expected ${status}, got ${actual} ${text}`);
}

/**
 * @param {string} what
 * @param {unknown} actual
 * @param {unknown} expected
 */
export function expectEqual(what, actual, expected) {
  const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (is !== should) throw new Error(`${what}: expected ${should}, got ${is}`);
}
