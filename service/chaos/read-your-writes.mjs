/**
 * Clients write on one instance and read on another, while a PostgreSQL standby replays behind its primary:
 * `node service/chaos/read-your-writes.mjs [--reads 4000] [--clients 4] [--lag 0] [--write]`.
 * One instance is on Express and one on Fastify. `--lag` is a delay in ms that the standby adds to its own. No client may miss its own
 * write; without the cookie some do, which shows that the test can fail. It is PostgreSQL's alone, because the service reads from no other
 * database's replicas.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from './support/client.mjs';
import { requestText } from '@ambit/host-contract';
import { report, say, table } from './support/report.mjs';
import { startCluster } from './support/postgres-cluster.mjs';
import { startServer, stopServer } from './support/server.mjs';
import { startStandby } from './support/standby.mjs';

const READS_PER_WRITE = 4;
const WARM_UP = 400;
const ROUNDS = 10;
/** What is only compared with gets a part of the reads. */
const COMPARED = 0.2;
const USER = { name: 'Ada', email: 'ada@example.org' };

/**
 * @typedef {object} Way how clients read
 * @property {string} title
 * @property {Record<string, string>} env
 * @property {boolean} keepsCookie
 * @property {number} share of the reads
 *
 * @typedef {object} Tally
 * @property {number} reads
 * @property {number} missed
 * @property {number} fromReplica
 * @property {number[]} readMs
 * @property {number[]} writeMs
 * @property {string[]} odd
 */

const { values } = parseArgs({
  options: {
    reads: { type: 'string', default: '4000' },
    clients: { type: 'string', default: '4' },
    lag: { type: 'string', default: '0' },
    write: { type: 'boolean', default: false },
  },
});
const [reads, clients, lag] = [values.reads, values.clients, values.lag].map(Number);
if (!(reads && clients && lag !== undefined && lag >= 0))
  throw new Error('--reads, --clients and --lag must be numbers');

// The servers are stopped on exit, also when this is interrupted.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
const primary = await startCluster();
const standby = await startStandby(primary.url, lag);
const replica = { DATABASE_READ_URL: standby.url, DATABASE_READ_FROM: 'replica' };
/** @type {[Way, Way, Way]} */
const ways = [
  { title: 'replica, with the cookie', env: replica, keepsCookie: true, share: 1 },
  { title: 'replica, without the cookie', env: replica, keepsCookie: false, share: COMPARED },
  { title: 'primary only', env: {}, keepsCookie: false, share: COMPARED },
];
/** @type {Map<Way, Tally>} */
const tallies = new Map(ways.map((way) => [way, emptyTally()]));
/** @type {Map<Way, import('./support/server.mjs').Server[]>} */
const instances = new Map();
try {
  for (const way of ways) {
    instances.set(way, await startBoth(way));
    await visit(way, WARM_UP, emptyTally());
  }
  // In turn, so that whatever else the machine does concerns all of them.
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`round ${round} of ${ROUNDS}`);
    for (const way of ways) await visit(way, ((reads ?? 0) * way.share) / ROUNDS, tallyOf(way));
  }
} finally {
  for (const server of [...instances.values()].flat()) await stopServer(server);
  standby.drop();
  primary.drop();
}

const rows = ways.map((way) => {
  const { reads: count, missed, fromReplica, readMs, writeMs } = tallyOf(way);
  const share = (/** @type {number} */ part) => `${((100 * part) / count).toFixed(1)} %`;
  return [way.title, count, missed, share(missed), share(fromReplica), ...quantiles(readMs), ...quantiles(writeMs)];
});
const head = ['reads', 'reads', 'own write missed', '', 'from the replica', 'read p50', 'p99', 'write p50', 'p99'];
const [withCookie, without] = ways.map(tallyOf);
const violations = ways.flatMap((way) => tallyOf(way).odd.slice(0, 5));
if (withCookie?.missed !== 0) violations.push(`${withCookie?.missed} reads missed the write of their own client`);
if (withCookie?.fromReplica === 0) violations.push('No read came from the standby, so nothing was tried');
if (without?.missed === 0) violations.push('Without the cookie no read missed a write, so nothing was tried');
report('read-your-writes', table(head, rows), violations, values.write);

/** @param {Way} way */
function tallyOf(way) {
  const tally = tallies.get(way);
  if (!tally) throw new Error(`${way.title} was not run`);
  return tally;
}

/** @returns {Tally} */
function emptyTally() {
  return { reads: 0, missed: 0, fromReplica: 0, readMs: [], writeMs: [], odd: [] };
}

/** @param {Way} way */
function startBoth({ env }) {
  const hosts = /** @type {const} */ (['express', 'fastify']);
  return Promise.all(hosts.map((host) => startServer(host, { DATABASE_URL: primary.url, ...env })));
}

/**
 * Each client writes on one instance and reads its write on both in turn, then writes on the other.
 * @param {Way} way
 * @param {number} count of reads
 * @param {Tally} tally
 */
async function visit(way, count, tally) {
  const servers = instances.get(way) ?? [];
  let left = count / READS_PER_WRITE;
  await Promise.all(
    Array.from({ length: clients ?? 1 }, async (_, number) => {
      const connections = servers.map(({ url }) => new Client(() => url));
      for (let turn = number; left-- > 0; turn += 1) {
        const at = (/** @type {number} */ step) =>
          /** @type {Client} */ (connections[(turn + step) % connections.length]);
        const created = await timed(
          tally.writeMs,
          at(0),
          requestText({ method: 'POST', path: '/api/users', body: USER }),
        );
        if (created?.status !== 201) {
          tally.odd.push(`A write got ${created?.status ?? 'no response'}: ${created?.text}`);
          continue;
        }
        const cookie = created.headers['set-cookie']?.split(';')[0];
        const headers = way.keepsCookie && cookie !== undefined ? { Cookie: cookie } : {};
        const read = requestText({ path: `/api/users/${JSON.parse(created.text).id}`, headers });
        for (let step = 1; step <= READS_PER_WRITE; step += 1) {
          // The last one comes later, when the standby may have the write.
          if (lag && step === READS_PER_WRITE) await pause(2 * lag);
          note(tally, await timed(tally.readMs, at(step), read));
        }
      }
      for (const connection of connections) connection.close();
    }),
  );
}

/**
 * @param {Tally} tally
 * @param {import('@ambit/host-contract').RawResponse | undefined} response
 */
function note(tally, response) {
  tally.reads += 1;
  if (response && response.headers['cache-status']) tally.fromReplica += 1;
  if (response?.status === 404) tally.missed += 1;
  else if (response?.status !== 200)
    tally.odd.push(`A read got ${response?.status ?? 'no response'}: ${response?.text}`);
}

/**
 * @param {number[]} times
 * @param {Client} client
 * @param {string} request
 */
async function timed(times, client, request) {
  const start = performance.now();
  const response = await client.send(request);
  times.push(performance.now() - start);
  return response;
}

/** @param {number[]} times */
function quantiles(times) {
  const sorted = times.toSorted((a, b) => a - b);
  return [0.5, 0.99].map((share) => `${(sorted[Math.floor(share * sorted.length)] ?? NaN).toFixed(2)} ms`);
}
