import { setTimeout as pause } from 'node:timers/promises';
import { ask } from '../instances/client.mjs';

/** A client's pause between two requests: the database and the machine must not be the limit. */
const PAUSE_MS = 10;
const ATTEMPTS = 20;
const CLIENTS = { read: 4, keyed: 6, unkeyed: 2 };

/** @typedef {keyof typeof CLIENTS} Kind */
/** @typedef {{ sent: number, failed: string[], slowestMs: number }} Counts `failed` are first attempts, also if a repeat succeeded */

/** Clients that send one request after the other, repeat what may be repeated, and remember every acknowledged order. */
export class Load {
  #base;
  #isOver = false;
  #clients;
  #keys = 0;
  /** @type {Record<Kind, Counts>} */
  counts = { read: noCounts(), keyed: noCounts(), unkeyed: noCounts() };
  /** @type {{ keyed: string[], unkeyed: string[] }} */
  acknowledged = { keyed: [], unkeyed: [] };

  /** @param {string} base */
  constructor(base) {
    this.#base = base;
    const kinds = /** @type {[Kind, number][]} */ (Object.entries(CLIENTS));
    this.#clients = kinds.flatMap(([kind, count]) => Array.from({ length: count }, () => this.#runClient(kind)));
  }

  /** Resolves when the last request has its response; rejects if one that may be repeated had none in the end. */
  async end() {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  /** @param {Kind} kind */
  async #runClient(kind) {
    while (!this.#isOver) {
      const text = await this.#sendOne(kind);
      if (kind !== 'read' && text !== undefined) this.acknowledged[kind].push(String(JSON.parse(text).id));
      await pause(PAUSE_MS);
    }
  }

  /** @param {Kind} kind @returns {Promise<string | undefined>} the response of success */
  async #sendOne(kind) {
    const counts = this.counts[kind];
    const isRead = kind === 'read';
    const body = isRead ? undefined : { items: [{ productId: kind, quantity: 1 }] };
    const request = { body, ...(kind === 'keyed' ? { key: `rollout-${(this.#keys += 1)}` } : {}) };
    const url = `${this.#base}${isRead ? '/api/users?limit=10' : '/api/orders'}`;
    const start = performance.now();
    counts.sent += 1;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const result = await ask(url, request).catch(reasonOf);
      counts.slowestMs = Math.max(counts.slowestMs, performance.now() - start);
      if (typeof result !== 'string' && result.status < 300) return result.text;
      const failure = typeof result === 'string' ? result : `${result.status} ${result.text}`;
      if (attempt === 1) counts.failed.push(failure);
      if (kind === 'unkeyed') return undefined;
      await pause(PAUSE_MS * attempt);
    }
    throw new Error(`A ${kind} request failed ${ATTEMPTS} times, the first: ${counts.failed.at(-1)}`);
  }
}

/** @returns {Counts} */
function noCounts() {
  return { sent: 0, failed: [], slowestMs: 0 };
}

/** The cause of a failed fetch is more specific than the error. @param {unknown} error */
function reasonOf(error) {
  const cause = error instanceof Error ? error.cause : undefined;
  return String(cause instanceof Error ? cause.message : error);
}
