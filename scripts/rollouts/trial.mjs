import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'pg';
import { expectEqual } from '../instances/client.mjs';
import { createDatabase } from '../instances/stage.mjs';
import { BALANCERS } from './endpoints.mjs';
import { Load } from './load.mjs';
import { Pod } from './pod.mjs';

/** How long load balancers take to learn that a Pod stops. */
const PROPAGATION_MS = 2000;

/**
 * @typedef {object} Trial
 * @property {'express' | 'fastify'} host
 * @property {string} balancer
 * @property {number} rollouts
 * @property {import('./settings.mjs').Settings} settings
 */

/**
 * Replaces two Pods, one after the other, while clients send requests, and checks every acknowledged order.
 * @param {Trial} trial
 * @param {{ admin: URL, folder: string }} place
 */
export async function runTrial({ host, balancer, rollouts, settings }, { admin, folder }) {
  /** @type {(() => unknown)[]} */
  const cleanups = [];
  try {
    const database = await createDatabase(admin, cleanups);
    /** @type {Pod[]} */
    const everyPod = [];
    const startPod = async () => {
      const pod = new Pod(host, database.href, settings);
      cleanups.push(() => pod.kill());
      everyPod.push(pod);
      await pod.start();
      return pod;
    };
    const pods = [await startPod(), await startPod()];
    const urls = pods.map(({ url }) => url);
    const endpoints = await /** @type {typeof BALANCERS[string]} */ (BALANCERS[balancer])(urls, folder);
    cleanups.push(() => endpoints.close());
    const load = new Load(endpoints.url);
    const exitCodes = [];
    for (let index = 0; index < rollouts * pods.length; index += 1) {
      const old = /** @type {Pod} */ (pods[index % pods.length]);
      const current = await startPod();
      pods[index % pods.length] = current;
      const replaced = pause(PROPAGATION_MS).then(() => endpoints.replace(old.url, current.url));
      exitCodes.push(await old.terminate());
      await replaced;
    }
    await load.end();
    const stored = await storedOrders(database);
    return {
      host,
      balancer,
      exitCodes,
      load,
      ledger: compare(load, stored),
      faults: everyPod.flatMap((pod) => pod.faults),
    };
  } finally {
    for (const cleanUp of cleanups.toReversed()) await cleanUp();
  }
}

/** @param {URL} database @returns {Promise<Record<string, string[]>>} ids by product, which names the kind of request */
async function storedOrders(database) {
  const pool = new Pool({ connectionString: database.href, max: 1 });
  const { rows } = await pool.query('SELECT order_id, product_id FROM order_items');
  await pool.end();
  /** @type {Record<string, string[]>} */
  const ids = {};
  for (const { order_id, product_id } of rows) (ids[product_id] ??= []).push(order_id);
  return ids;
}

/**
 * Throws if an acknowledged order is not stored, or if one under a key was stored twice.
 * @param {Load} load
 * @param {Record<string, string[]>} stored
 */
function compare({ acknowledged }, { keyed = [], unkeyed = [] }) {
  const sorted = (/** @type {string[]} */ ids) => ids.toSorted((a, b) => a.localeCompare(b));
  expectEqual('the orders under a key', sorted(keyed), sorted(acknowledged.keyed));
  const found = new Set(unkeyed);
  expectEqual(
    'acknowledged orders that are missing',
    acknowledged.unkeyed.filter((id) => !found.has(id)),
    [],
  );
  return {
    acknowledged: acknowledged.keyed.length + acknowledged.unkeyed.length,
    unknown: unkeyed.length - acknowledged.unkeyed.length,
  };
}
