/**
 * The service in a process that also reports what it holds: it replies to each message after a garbage collection.
 * It needs `node --expose-gc` and an IPC channel to the process that started it.
 */
import { subscribe } from 'node:diagnostics_channel';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readConfig, startService } from '../../dist/index.js';

const COLLECTIONS = 4;
/** In a sequence that satisfies the foreign keys. */
const TABLES = ['reservations', 'order_items', 'orders', 'users', 'idempotency_keys'];

/**
 * @typedef {object} Measurement
 * @property {number} heapUsed bytes
 * @property {number} rss bytes
 * @property {number} openScopes
 * @property {Record<string, number>} resources what keeps the event loop alive, as Node counts it
 * @property {{ open: number, idle: number, waiting: number }} pool
 */

let openScopes = 0;
subscribe('ambit:scope:opened', () => void openScopes++);
subscribe('ambit:scope:closed', () => void openScopes--);

const service = await startService(readConfig(process.env));
const pool = service.container.resolve('IDatabasePool');
process.on('message', (wish) => void reply(wish));
process.on('disconnect', () => process.exit());
process.send?.({ url: service.url });

/** @param {unknown} wish */
async function reply(wish) {
  if (wish === 'empty') for (const table of TABLES) await pool.query(`DELETE FROM ${table}`);
  process.send?.(await measure());
}

/** @returns {Promise<Measurement>} */
async function measure() {
  // What a finalizer releases is garbage only afterwards.
  for (let i = 0; i < COLLECTIONS; i++) {
    globalThis.gc?.();
    await nextTurn();
  }
  /** @type {Record<string, number>} */
  const resources = {};
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1;
  const { heapUsed, rss } = process.memoryUsage();
  const { open = 0, idle = 0, waiting = 0 } = pool.size ?? {};
  return { heapUsed, rss, openScopes, resources, pool: { open, idle, waiting } };
}
