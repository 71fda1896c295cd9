/**
 * Kills everything under load, and then looks whether what was promised is there:
 * `node service/chaos/nothing-lost.mjs [--seconds 60] [--kills 10] [--host both] [--database both] [--write]`.
 * The seconds are shared out among the runs; each run has so many kills. On PostgreSQL, one of its own, it also kills
 * sessions, restarts and crashes the database, and cuts connections at COMMIT, before and after it was carried out.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { crowd, replay } from './support/crowd.mjs';
import { Ledger } from './support/ledger.mjs';
import { readOptions } from './support/options.mjs';
import { checkPromises } from './support/promises.mjs';
import { report, say, table } from './support/report.mjs';
import { checkStock, Findings, readOrders, setStock } from './support/stored.mjs';
import { Supervisor } from './support/supervisor.mjs';
import { worldOf } from './support/worlds.mjs';

/** @type {(name: string, count: number, level: number) => [string, number][]} */
const products = (name, count, level) => Array.from({ length: count }, (_, i) => [`${name}-${i}`, level]);
const STOCK = new Map([...products('plenty', 30, 1_000_000), ...products('few', 4, 40)]);
/** @type {readonly [string, ...string[]]} */
const PRODUCTS = ['untracked', ...STOCK.keys()];
/** Between two kills; a server that was killed before it did anything proves nothing. */
const LEAST_ANSWERS = 100;
const LOOK_AGAIN_MS = 20;
const KINDS = [
  'acknowledged and missing',
  'half-written',
  'stock',
  'keys',
  'done more than once',
  'denied and done',
  'answers',
  'process',
];

const options = readOptions({ seconds: 60, kills: 10 });
const runs = options.databases.flatMap((database) => options.hosts.map((host) => ({ host, database })));
const msEach = (options.seconds * 1000) / runs.length;

/** @type {{ title: string, counts: Record<string, number>, told: string[] }[]} */
const results = [];
for (const { host, database } of runs) {
  const title = `${host}, ${database}`;
  say(`${title}: ${msEach / 1000} s`);
  const world = await worldOf(database);
  try {
    results.push({ title, ...(await trial(host, world)) });
  } finally {
    await world.end();
  }
}
const measures = [...new Set(results.flatMap(({ counts }) => Object.keys(counts)))];
report(
  'nothing-lost',
  table(
    ['', ...results.map(({ title }) => title)],
    measures.map((measure) => [measure, ...results.map(({ counts }) => counts[measure] ?? '')]),
  ),
  results.flatMap(({ title, told }) => told.map((line) => `${title}: ${line}`)),
  options.write,
);

/**
 * @param {import('./support/server.mjs').HostVariant} host
 * @param {import('./support/worlds.mjs').World} world
 */
async function trial(host, world) {
  const supervisor = new Supervisor(host, world.env);
  await supervisor.server;
  await setStock(world.database, STOCK);

  const ledger = new Ledger(PRODUCTS);
  const over = new AbortController();
  const clients = crowd(async () => (await supervisor.server).url, ledger, over.signal);
  const harmed = world.harm(msEach, over.signal);
  const killed = await killRepeatedly(supervisor, ledger);
  over.abort();
  const harm = await harmed;
  await clients;
  await replay((await supervisor.server).url, ledger);
  const end = await supervisor.stop();

  const findings = new Findings();
  if (end.code !== 0) findings.add('process', `told to stop, it ended with ${end.code ?? end.signal}`);
  for (const crash of supervisor.crashes) findings.add('process', crash);
  const orders = await readOrders(world.database, findings);
  await checkStock(world.database, STOCK, findings);
  await checkPromises(world.database, orders, ledger, findings);

  const works = [...ledger.works.values()];
  /** @type {Record<string, number>} */
  const counts = {
    'server killed': killed,
    ...harm,
    'starts that failed': supervisor.failedStarts,
    'requests sent': ledger.requests,
    'answers lost': ledger.lost,
    'answers of 503': ledger.unavailable,
    'answers replayed': ledger.replays,
    'orders refused for want of stock': works.filter(({ refused }) => refused).length,
    'users acknowledged': works.filter(({ kind, answer }) => kind === 'user' && answer).length,
    'orders acknowledged': works.filter(({ kind, answer }) => kind === 'order' && answer).length,
    'orders stored': orders.length,
    ...Object.fromEntries(KINDS.map((kind) => [`**${kind}**`, findings.count(kind)])),
  };
  return { counts, told: findings.told };
}

/**
 * Evenly over the time of the run, each time a server that has work to do.
 * @param {Supervisor} supervisor
 * @param {Ledger} ledger
 */
async function killRepeatedly(supervisor, ledger) {
  const start = performance.now();
  let killed = 0;
  for (; killed < options.kills; killed++) {
    await pause(Math.max(0, start + (msEach * (killed + 1)) / (options.kills + 1) - performance.now()));
    await supervisor.server;
    const answered = ledger.answered + LEAST_ANSWERS;
    while (ledger.answered < answered) await pause(LOOK_AGAIN_MS);
    await supervisor.kill();
  }
  await pause(Math.max(0, start + msEach - performance.now()));
  return killed;
}
