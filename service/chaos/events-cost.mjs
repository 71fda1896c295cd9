/**
 * What events cost: two instances of the service, one of them with EVENTS_URL, get the same orders in turn, and the processor time
 * of node and of the connections to the database is compared: `node service/chaos/events-cost.mjs [--rounds 15] [--orders 400]
 * [--database both] [--write]`. SQLite has no part in it, because all that it does is processor time of node.
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

/** @typedef {import('./support/database.mjs').Database} Database */
/** @typedef {{ url: string, pid: number, database: Database, stop: () => Promise<unknown> }} Contestant */
/** @typedef {{ node: number, database: number }} Usage */

const options = readOptions({ rounds: 15, orders: 400 }, ['postgres', 'mariadb']);
const parts = [];
for (const kind of options.databases) parts.push(await compare(kind));
report(options.sectionOf('events-cost'), parts.join('\n\n'), [], options.write);

/** @param {import('./support/database.mjs').DatabaseKind} kind */
async function compare(kind) {
  const sink = new EventSink();
  sink.calm = true;
  const plain = await start(kind, {});
  const publishing = await start(kind, await sink.listen());
  try {
    for (const one of [plain, publishing]) await order(one, WARM_UP);
    await allArrived(publishing);
    sink.lags.length = 0;
    /** @type {{ node: number, database: number, both: number }[]} */
    const ratios = [];
    for (let round = 0; round < options.rounds; round++) {
      const pair = round % 2 === 0 ? [plain, publishing] : [publishing, plain];
      /** @type {Map<Contestant, Usage>} */
      const used = new Map();
      for (const one of pair) used.set(one, await measure(one, publishing));
      const [without, withEvents] = [used.get(plain), used.get(publishing)];
      if (!without || !withEvents) continue;
      const both = (/** @type {Usage} */ { node, database }) => node + database;
      ratios.push({
        node: withEvents.node / without.node,
        database: withEvents.database / without.database,
        both: both(withEvents) / both(without),
      });
      say(`${kind}, round ${round + 1}: ${JSON.stringify(ratios.at(-1))} of ${JSON.stringify(without)}`);
    }
    const lags = sink.lags.toSorted((a, b) => a - b);
    const percent = (/** @type {number} */ ratio) => `${((ratio - 1) * 100).toFixed(0)} %`;
    const row = (/** @type {string} */ name, /** @type {'node' | 'database' | 'both'} */ what) => {
      const all = ratios.map((ratio) => ratio[what]).toSorted((a, b) => a - b);
      return [name, ...[0.5, 0.25, 0.75].map((share) => percent(quantile(all, share)))];
    };
    return [
      table(
        ['processor time of an order', 'median', 'lower quartile', 'upper quartile'],
        [row('node', 'node'), row(kind, 'database'), row('both', 'both')],
      ),
      `The lag from publish() to the arrival: p50 ${quantile(lags, 0.5).toFixed(0)} ms, p99 ${quantile(lags, 0.99).toFixed(0)} ms, of ${lags.length} events.`,
    ].join('\n\n');
  } finally {
    for (const one of [plain, publishing]) await one.stop();
    sink.close();
  }
}

/**
 * @param {import('./support/database.mjs').DatabaseKind} kind
 * @param {Record<string, string>} env
 * @returns {Promise<Contestant>}
 */
async function start(kind, env) {
  const database = await createDatabase(kind);
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

/**
 * @param {Contestant} contestant
 * @param {Contestant} publishing
 */
async function measure(contestant, publishing) {
  // Connections that were idle for long are closed, and opened again here.
  await order(contestant, 4 * CLIENTS);
  const threads = (await contestant.database.sessions()).map(({ thread }) => thread);
  const before = usage(contestant, threads);
  await order(contestant, options.orders);
  await allArrived(publishing);
  const after = usage(contestant, threads);
  return { node: after.node - before.node, database: after.database - before.database };
}

/** Until every event was received, and its row deleted. @param {Contestant} publishing */
async function allArrived({ database }) {
  while ((await database.query('SELECT 1 AS one FROM outbox LIMIT 1')).length > 0) await pause(10);
}

/**
 * @param {Contestant} contestant
 * @param {readonly number[]} threads that work for its sessions
 * @returns {Usage} milliseconds of processor time so far
 */
function usage({ pid }, threads) {
  const used = threads.map((thread) => cpuOf(`${thread}/task/${thread}`));
  return { node: cpuOf(String(pid)), database: used.reduce((sum, ms) => sum + ms, 0) };
}

/** @param {string} task a process, or one of its threads */
function cpuOf(task) {
  const fields = readFileSync(`/proc/${task}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

/**
 * @param {readonly number[]} sorted
 * @param {number} share
 */
function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}
