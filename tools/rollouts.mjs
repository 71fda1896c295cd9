// Rolling restarts as Kubernetes does them, with the settings of deploy/kubernetes, under load: prints which requests failed.
//   npm run build && node tools/rollouts.mjs [--database mariadb] [--rollouts 5] [--pre-stop 0]
// A request that failed is sent again if it is a GET or has a key. It fails if one of these never succeeds, if an order
// is lost or stored twice, or if an instance does not exit by itself.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureInstalled, isListening } from '../service/chaos/support/program.mjs';
import { serversNamed, skipped } from './instances/databases.mjs';
import { BALANCERS } from './rollouts/endpoints.mjs';
import { shippedSettings } from './rollouts/pod.mjs';
import { runTrial } from './rollouts/trial.mjs';

/** @typedef {import('./instances/databases.mjs').Server} Server */

const { values } = parseArgs({
  options: { database: { type: 'string' }, rollouts: { type: 'string', default: '1' }, 'pre-stop': { type: 'string' } },
});
const shipped = shippedSettings();
const preStopMs = values['pre-stop'] === undefined ? shipped.preStopMs : Number(values['pre-stop']) * 1000;
const settings = { ...shipped, preStopMs };
/** @type {readonly ('express' | 'fastify')[]} */
const HOSTS = ['express', 'fastify'];
let broken = 0;

console.log(`preStop ${preStopMs / 1000} s, grace period ${settings.graceMs / 1000} s`);
console.log(
  'database    host     through  restarts  exit codes  requests  failed: reads, with key, without  slowest  orders',
);
for (const server of serversNamed(values.database)) await onServer(server);
process.exitCode = broken > 0 ? 1 : 0;

/** @param {Server} server */
async function onServer(server) {
  if (!(await isListening(server.url))) {
    broken += skipped(server, 'everything', `none listens at ${server.url.host}`);
    return;
  }
  for (const balancer of Object.keys(BALANCERS)) {
    if (balancer === 'HAProxy' && !ensureInstalled('haproxy'))
      broken += skipped(server, 'through HAProxy', 'it cannot be found');
    else await Promise.all(HOSTS.map((host) => run(server, host, balancer)));
  }
}

/** @param {Server} server @param {'express' | 'fastify'} host @param {string} balancer */
async function run(server, host, balancer) {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-rollouts-'));
  try {
    const trial = { host, balancer, rollouts: Number(values.rollouts), settings };
    report(server, await runTrial(trial, { server, folder }));
  } catch (error) {
    fail(`${host} through ${balancer} on ${server.name}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {Server} server @param {Awaited<ReturnType<typeof runTrial>>} result */
function report({ name }, { host, balancer, exitCodes, load, ledger, faults }) {
  const { read, keyed, unkeyed } = load.counts;
  const all = [read, keyed, unkeyed];
  const requests = all.reduce((sum, { sent }) => sum + sent, 0);
  const slowest = Math.max(...all.map(({ slowestMs }) => slowestMs));
  const cells = [
    name.padEnd(11),
    host.padEnd(8),
    balancer.padEnd(8),
    String(exitCodes.length).padStart(8),
    [...new Set(exitCodes)].join().padStart(11),
    String(requests).padStart(9),
    all
      .map(({ failed }) => failed.length)
      .join(', ')
      .padStart(32),
    `${Math.round(slowest)} ms`.padStart(8),
    ` ${ledger.acknowledged} acknowledged and stored${ledger.unknown > 0 ? `, ${ledger.unknown} of unknown outcome stored` : ''}`,
  ];
  console.log(cells.join(' '));
  const reasons = new Set(all.flatMap(({ failed }) => failed));
  if (reasons.size > 0) console.log(`         why: ${[...reasons].join('; ')}`);
  if (exitCodes.some((code) => code !== 0)) fail('an instance did not exit by itself with 0');
  if (faults.length > 0) fail(`${faults.length} requests got 500, the first: ${faults[0]?.slice(0, 300)}`);
}

/** @param {string} what */
function fail(what) {
  broken += 1;
  console.log(`  BROKEN  ${what}`);
}
