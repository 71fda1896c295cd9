/**
 * What events cost: two instances of the service, one of them with EVENTS_URL, get the same orders in turn, and the processor time
 * of node and of the connections to PostgreSQL is compared: `node service/chaos/events-cost.mjs [--rounds 15] [--orders 400] [--write]`.
 * Ratios of processor time hold on a busy machine, too; the spread says how well. The lag does depend on the load.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from './support/client.mjs';
import { requestText } from '@ambit/host-contract';
import { createDatabase } from './support/database.mjs';
import { EventSink } from './support/event-sink.mjs';
import { readOptions } from './support/options.mjs';
import { report, say, table } from './support/report.mjs';
import { startServer, stopServer } from './support/server.mjs';

const CLIENTS = 8;
const WARM_UP = 3000;
const MS_PER_TICK = 10;
const ORDER = requestText({
  method: 'POST',
  path: '/api/orders',
  body: {
    items: [
      { productId: 'apple', quantity: 1 },
      { productId: 'pear', quantity: 2 },
    ],
  },
});

/** @typedef {{ url: string, pid: number, database: import('./support/database.mjs').Database, stop: () => Promise<unknown> }} Contestant */
/** @typedef {{ node: number, postgres: number }} Usage */

const options = readOptions({ rounds: 15, orders: 400 });
const sink = new EventSink();
sink.calm = true;
const plain = await start({});
const publishing = await start(await sink.listen());
try {
  for (const one of [plain, publishing]) await order(one, WARM_UP);
  await allArrived();
  sink.lags.length = 0;
  /** @type {{ node: number, postgres: number, both: number }[]} */
  const ratios = [];
  for (let round = 0; round < options.rounds; round++) {
    const pair = round % 2 === 0 ? [plain, publishing] : [publishing, plain];
    /** @type {Map<Contestant, Usage>} */
    const used = new Map();
    for (const one of pair) used.set(one, await measure(one));
    const [without, withEvents] = [used.get(plain), used.get(publishing)];
    if (!without || !withEvents) continue;
    const both = (/** @type {Usage} */ { node, postgres }) => node + postgres;
    ratios.push({
      node: withEvents.node / without.node,
      postgres: withEvents.postgres / without.postgres,
      both: both(withEvents) / both(without),
    });
    say(`round ${round + 1}: ${JSON.stringify(ratios.at(-1))} of ${JSON.stringify(without)}`);
  }
  const lags = sink.lags.toSorted((a, b) => a - b);
  const percent = (/** @type {number} */ ratio) => `${((ratio - 1) * 100).toFixed(0)} %`;
  const row = (/** @type {'node' | 'postgres' | 'both'} */ what) => {
    const all = ratios.map((ratio) => ratio[what]).toSorted((a, b) => a - b);
    return [what, ...[0.5, 0.25, 0.75].map((share) => percent(quantile(all, share)))];
  };
  const text = [
    table(
      ['processor time of an order', 'median', 'lower quartile', 'upper quartile'],
      ['node', 'postgres', 'both'].map((what) => row(/** @type {'node'} */ (what))),
    ),
    `The lag from publish() to the arrival: p50 ${quantile(lags, 0.5).toFixed(0)} ms, p99 ${quantile(lags, 0.99).toFixed(0)} ms, of ${lags.length} events.`,
  ].join('\n\n');
  report('events-cost', text, [], options.write);
} finally {
  for (const one of [plain, publishing]) await one.stop();
  sink.close();
}

/**
 * @param {Record<string, string>} env
 * @returns {Promise<Contestant>}
 */
async function start(env) {
  const database = await createDatabase('postgres');
  const server = await startServer('fastify', { ...database.env, ...env, DATABASE_POOL_SIZE: '4' });
  const stop = async () => {
    await stopServer(server);
    await database.drop();
  };
  return { url: server.url, pid: server.process.pid ?? 0, database, stop };
}

/**
 * @param {Contestant} contestant
 * @param {number} count
 */
async function order({ url }, count) {
  let left = count;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const client = new Client(() => url);
      while (left-- > 0) {
        const response = await client.send(ORDER);
        if (response?.status !== 201) throw new Error(`An order got ${response?.status}: ${response?.text}`);
      }
      client.close();
    }),
  );
}

/** @param {Contestant} contestant */
async function measure(contestant) {
  // Connections that were idle for long are closed, and opened again here.
  await order(contestant, 4 * CLIENTS);
  const pids = await backends(contestant);
  const before = usage(contestant, pids);
  await order(contestant, options.orders);
  await allArrived();
  const after = usage(contestant, pids);
  return { node: after.node - before.node, postgres: after.postgres - before.postgres };
}

/** Until every event was received, and its row deleted. */
async function allArrived() {
  while ((await publishing.database.query('SELECT 1 AS one FROM outbox LIMIT 1')).length > 0) await pause(10);
}

/** @param {Contestant} contestant */
async function backends({ database }) {
  const rows = await database.query(
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'ambit-service'",
  );
  return rows.map(({ pid }) => Number(pid));
}

/**
 * @param {Contestant} contestant
 * @param {readonly number[]} pids of its connections
 * @returns {Usage} milliseconds of processor time so far
 */
function usage({ pid }, pids) {
  return { node: cpuOf(pid), postgres: pids.reduce((sum, backend) => sum + cpuOf(backend), 0) };
}

/** @param {number} pid */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

/**
 * @param {readonly number[]} sorted
 * @param {number} share
 */
function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}
