import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../kit/program.mjs';
import { ask, expectEqual, expectStatus, reasonOf, sendUntilDone } from './client.mjs';

/** What may be repeated besides 503: the key is in use by a request before, or the load balancer lost an instance. */
const AGAIN = [409, 502, 504];

/** @typedef {'read' | 'keyed' | 'unkeyed'} Kind */
/** @typedef {{ sent: number, failed: string[], slowestMs: number }} Counts `failed` are first attempts, also if a repeat succeeded */

/** Clients that send one request after the other, repeat what may be repeated, and remember every acknowledged order. */
export class Load {
  #urls;
  #name;
  #pauseMs;
  #isOver = false;
  #sent = 0;
  #clients;
  /** @type {Record<Kind, Counts>} */
  counts = { read: noCounts(), keyed: noCounts(), unkeyed: noCounts() };
  /** @type {Record<'keyed' | 'unkeyed', string[]>} */
  #acknowledged = { keyed: [], unkeyed: [] };

  /**
   * @param {readonly string[]} urls each request tries the next one until it succeeds
   * @param {string} name which no other load of the database has
   * @param {{ clients?: Partial<Record<Kind, number>>, pauseMs?: number }} [options] how many of each kind, and how long each
   *   pauses between two requests
   */
  constructor(urls, name, { clients = { keyed: 16 }, pauseMs = 0 } = {}) {
    this.#urls = urls;
    this.#name = name;
    this.#pauseMs = pauseMs;
    const kinds = /** @type {[Kind, number][]} */ (Object.entries(clients));
    this.#clients = kinds.flatMap(([kind, count]) => Array.from({ length: count }, () => this.#runClient(kind)));
  }

  /** @param {number} count of acknowledged orders */
  until(count) {
    const isThere = async () => this.#acknowledged.keyed.length >= count;
    return Promise.race([until(`${count} orders`, isThere), ...this.#clients]);
  }

  /**
   * Waits for the last responses, and checks that each acknowledged order is stored completely, and under a key no other.
   * @param {import('../kit/databases.mjs').Query} query
   * @returns {Promise<{ acknowledged: number, unknown: number }>} `unknown`: orders without a key that are stored, and were not acknowledged
   */
  async end(query) {
    this.#isOver = true;
    await Promise.all(this.#clients);
    const { keyed, unkeyed } = this.#acknowledged;
    expectEqual('the orders under a key', await this.#stored('keyed', query), sorted(keyed));
    const found = await this.#stored('unkeyed', query);
    const missing = unkeyed.filter((id) => !found.includes(id));
    expectEqual('acknowledged orders that are missing', missing, []);
    return { acknowledged: keyed.length + unkeyed.length, unknown: found.length - unkeyed.length };
  }

  /** @param {Kind} kind @param {import('../kit/databases.mjs').Query} query @returns {Promise<string[]>} the ids of whole orders */
  async #stored(kind, query) {
    const rows = await query(
      'SELECT order_id FROM order_items WHERE product_id = $1 GROUP BY order_id HAVING sum(quantity) = 3',
      [`${this.#name}-${kind}`],
    );
    return sorted(rows.map((row) => String(row['order_id'])));
  }

  /** @param {Kind} kind */
  async #runClient(kind) {
    while (!this.#isOver) {
      const start = performance.now();
      const text = await this.#sendOne(kind);
      const counts = this.counts[kind];
      counts.slowestMs = Math.max(counts.slowestMs, performance.now() - start);
      if (kind !== 'read' && text !== undefined) this.#acknowledged[kind].push(String(JSON.parse(text).id));
      await pause(this.#pauseMs);
    }
  }

  /** @param {Kind} kind @returns {Promise<string | undefined>} the response of success */
  async #sendOne(kind) {
    const counts = this.counts[kind];
    counts.sent += 1;
    const items = [1, 2].map((quantity) => ({ productId: `${this.#name}-${kind}`, quantity }));
    if (kind === 'unkeyed') {
      const result = await ask(`${this.#urls[0]}/api/orders`, { body: { items } }).catch(reasonOf);
      if (typeof result !== 'string' && result.status === 201) return result.text;
      counts.failed.push(typeof result === 'string' ? result : `${result.status} ${result.text}`);
      return undefined;
    }
    const isRead = kind === 'read';
    const request = isRead ? {} : { body: { items }, key: `${this.#name}-${(this.#sent += 1)}` };
    const path = isRead ? '/api/users?limit=10' : '/api/orders';
    const urls = this.#urls.map((url) => url + path);
    const { failures, ...result } = await sendUntilDone(urls, request, AGAIN);
    counts.failed.push(...failures.slice(0, 1));
    expectStatus(result, isRead ? 200 : 201);
    return result.text;
  }
}

/** @returns {Counts} */
const noCounts = () => ({ sent: 0, failed: [], slowestMs: 0 });

/** @param {readonly string[]} ids */
const sorted = (ids) => ids.toSorted((a, b) => a.localeCompare(b));
