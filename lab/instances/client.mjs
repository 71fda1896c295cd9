import { setTimeout as pause } from 'node:timers/promises';

/** @typedef {{ status: number, headers: Headers, text: string }} HttpResponse */

/** Long enough for busy machines. */
const TIMEOUT_MS = 30_000;
const BUSY = 503;

/**
 * @param {string} url
 * @param {{ body?: unknown, key?: string }} [request]
 * @returns {Promise<HttpResponse>}
 */
export async function ask(url, { body, key } = {}) {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/**
 * What a client behind a load balancer does: sends the request to the next instance, under the same key, until it succeeds.
 * @param {readonly string[]} urls
 * @param {{ body?: unknown, key?: string }} request
 * @param {readonly number[]} again the statuses that are repeated, in addition to 503
 * @returns {Promise<HttpResponse & { failures: string[] }>}
 */
export async function sendUntilDone(urls, request, again) {
  const deadline = Date.now() + TIMEOUT_MS;
  /** @type {string[]} */
  const failures = [];
  for (;;) {
    const url = /** @type {string} */ (urls[failures.length % urls.length]);
    const result = await ask(url, request).catch(reasonOf);
    if (typeof result === 'object' && ![BUSY, ...again].includes(result.status)) return { ...result, failures };
    failures.push(typeof result === 'object' ? `${result.status} ${result.text}` : result);
    if (Date.now() > deadline) throw new Error(`no response: ${failures.at(-1)}`);
    await pause(20);
  }
}

/** The cause of a failed fetch is more specific than the error. @param {unknown} error */
export function reasonOf(error) {
  const cause = error instanceof Error ? error.cause : undefined;
  return String(cause instanceof Error ? cause.message : error);
}

/** @param {HttpResponse} result @param {number} status */
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
