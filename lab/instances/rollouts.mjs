/**
 * Rolling restarts as Kubernetes does them, with the settings of deploy/kubernetes, under load: `[--database mariadb] [--rollouts 1]
 * [--pre-stop-ms 0]`. Prints which requests failed. A request that failed is sent again if it is a GET or has a key. It fails if one of
 * these never succeeds, if an order is lost or stored twice, or if an instance does not exit by itself.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { createDatabase } from '../kit/databases.mjs';
import { readOptions } from '../kit/options.mjs';
import { need, temporaryFolder } from '../kit/program.mjs';
import { report, table } from '../kit/report.mjs';
import { BALANCERS } from './endpoints.mjs';
import { Load } from './load.mjs';
import { Pod, shippedSettings } from './pod.mjs';

/** How long load balancers take to learn that a Pod stops. */
const PROPAGATION_MS = 2000;
/** The pause between two requests: the database and the machine must not be the limit. */
const LOAD = { clients: { read: 4, keyed: 6, unkeyed: 2 }, pauseMs: 10 };

const shipped = shippedSettings();
const { rollouts, databases, hosts, ...options } = readOptions({ rollouts: 1, 'pre-stop-ms': shipped.preStopMs });
const settings = { ...shipped, preStopMs: options['pre-stop-ms'] };
/** @type {(string | number)[][]} */
const rows = [];
/** @type {string[]} */
const violations = [];
need('haproxy');
console.log(`preStop ${settings.preStopMs / 1000} s, grace period ${settings.graceMs / 1000} s`);
for (const kind of databases)
  for (const balancer of kind === 'sqlite' ? [] : Object.keys(BALANCERS))
    await Promise.all(hosts.map((host) => run(kind, host, balancer)));
report(
  table(['', 'restarts', 'requests', 'failed: reads, with key, without', 'slowest', 'orders stored', 'why'], rows),
  violations,
);

/**
 * Replaces two Pods, one after the other, while clients send requests, and checks every acknowledged order.
 * @param {import('../kit/databases.mjs').DatabaseKind} kind
 * @param {import('../kit/options.mjs').Host} host
 * @param {string} balancer
 */
async function run(kind, host, balancer) {
  const title = `${host} through ${balancer} on ${kind}`;
  const database = await createDatabase(kind);
  /** @type {Pod[]} */
  const everyPod = [];
  const startPod = async () => {
    const pod = new Pod(host, database.env, settings);
    everyPod.push(pod);
    await pod.start();
    return pod;
  };
  /** @type {import('./endpoints.mjs').Endpoints | undefined} */
  let endpoints;
  try {
    const pods = [await startPod(), await startPod()];
    endpoints = await BALANCERS[balancer]?.(
      pods.map(({ url }) => url),
      temporaryFolder('rollouts'),
    );
    if (!endpoints) throw new Error(`There is no ${balancer}`);
    const load = new Load([endpoints.url], 'rollout', LOAD);
    const exitCodes = [];
    for (let index = 0; index < rollouts * pods.length; index += 1) {
      const old = /** @type {Pod} */ (pods[index % pods.length]);
      const current = await startPod();
      pods[index % pods.length] = current;
      const replaced = pause(PROPAGATION_MS).then(() => endpoints?.replace(old.url, current.url));
      exitCodes.push(await old.terminate());
      await replaced;
    }
    note(title, exitCodes, load, (await load.end(database.query)).acknowledged);
    const faults = everyPod.flatMap((pod) => pod.faults);
    if (faults.length > 0) violations.push(`${title}: ${faults.length} requests got 500: ${faults[0]?.slice(0, 300)}`);
  } catch (error) {
    violations.push(`${title}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await endpoints?.close();
    await Promise.all(everyPod.map((pod) => pod.kill()));
    await database.drop();
  }
}

/** @param {string} title @param {readonly unknown[]} exitCodes @param {Load} load @param {number} stored */
function note(title, exitCodes, load, stored) {
  const all = Object.values(load.counts);
  const requests = all.reduce((sum, { sent }) => sum + sent, 0);
  const slowest = Math.max(...all.map(({ slowestMs }) => slowestMs));
  const failed = all.map((counts) => counts.failed.length).join(', ');
  const reasons = new Set(all.flatMap((counts) => counts.failed));
  rows.push([title, exitCodes.length, requests, failed, `${Math.round(slowest)} ms`, stored, [...reasons].join('; ')]);
  if (exitCodes.some((code) => code !== 0)) violations.push(`${title}: an instance exited with ${exitCodes.join()}`);
}
