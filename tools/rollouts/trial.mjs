import { setTimeout as pause } from 'node:timers/promises';
import { Load } from '../instances/load.mjs';
import { createDatabase } from '../instances/databases.mjs';
import { BALANCERS } from './endpoints.mjs';
import { Pod } from './pod.mjs';

/** How long load balancers take to learn that a Pod stops. */
const PROPAGATION_MS = 2000;
/** The pause between two requests: the database and the machine must not be the limit. */
const LOAD = { clients: { read: 4, keyed: 6, unkeyed: 2 }, pauseMs: 10 };

/**
 * @typedef {object} Trial
 * @property {'express' | 'fastify'} host
 * @property {string} balancer
 * @property {number} rollouts
 * @property {import('./pod.mjs').Settings} settings
 */

/**
 * Replaces two Pods, one after the other, while clients send requests, and checks every acknowledged order.
 * @param {Trial} trial
 * @param {{ server: import('../instances/databases.mjs').Server, folder: string }} place
 */
export async function runTrial({ host, balancer, rollouts, settings }, { server, folder }) {
  /** @type {(() => unknown)[]} */
  const cleanups = [];
  try {
    const database = await createDatabase(server, cleanups);
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
    const load = new Load([endpoints.url], 'rollout', LOAD);
    const exitCodes = [];
    for (let index = 0; index < rollouts * pods.length; index += 1) {
      const old = /** @type {Pod} */ (pods[index % pods.length]);
      const current = await startPod();
      pods[index % pods.length] = current;
      const replaced = pause(PROPAGATION_MS).then(() => endpoints.replace(old.url, current.url));
      exitCodes.push(await old.terminate());
      await replaced;
    }
    return {
      host,
      balancer,
      exitCodes,
      ledger: await load.end(server.queryOf(database.href)),
      load,
      faults: everyPod.flatMap((pod) => pod.faults),
    };
  } finally {
    for (const cleanUp of cleanups.toReversed()) await cleanUp();
  }
}
