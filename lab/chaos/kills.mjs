/**
 * Kills everything under load, and then checks that everything acknowledged is stored: `[--seconds 60] [--kills 10] [--host express]
 * [--database sqlite]`. The seconds are divided among the runs; each run has so many kills. On PostgreSQL and MariaDB, a separate server,
 * it also kills sessions, restarts and crashes the database, and cuts connections at COMMIT, before and after it was carried out.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { crowd, replay } from '../kit/crowd.mjs';
import { Ledger } from '../kit/ledger.mjs';
import { readOptions } from '../kit/options.mjs';
import { report, say, tableOfCounts } from '../kit/report.mjs';
import { Supervisor } from '../kit/service.mjs';
import { compare, Findings, KINDS, PRODUCTS, setStock, STOCK } from '../kit/stored.mjs';
import { createWorld } from './worlds.mjs';

/** Between two kills; killing a server that has done nothing yet proves nothing. */
const MIN_RESPONSES = 100;
const LOOK_AGAIN_MS = 20;

const options = readOptions({ seconds: 60, kills: 10 });
const runs = options.databases.flatMap((database) => options.hosts.map((host) => ({ host, database })));
const msEach = (options.seconds * 1000) / runs.length;

/** @type {{ title: string, counts: Record<string, number>, reported: string[] }[]} */
const results = [];
for (const { host, database } of runs) {
  const title = `${host}, ${database}`;
  say(`${title}: ${msEach / 1000} s`);
  const world = await createWorld(database);
  try {
    results.push({ title, ...(await run(host, world)) });
  } finally {
    await world.drop();
  }
}
report(
  tableOfCounts(results),
  results.flatMap(({ title, reported }) => reported.map((line) => `${title}: ${line}`)),
);

/**
 * @param {import('../kit/options.mjs').Host} host
 * @param {import('./worlds.mjs').World} world
 */
async function run(host, world) {
  const supervisor = new Supervisor(host, world.env);
  await supervisor.server;
  await setStock(world, STOCK);

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
  if (end.code !== 0) findings.add('process', `after SIGTERM it exited with ${end.code ?? end.signal}`);
  for (const crash of supervisor.crashes) findings.add('process', crash);
  const orders = await compare(world, ledger, findings);

  const works = [...ledger.works.values()];
  /** @type {Record<string, number>} */
  const counts = {
    'server killed': killed,
    ...harm,
    'starts that failed': supervisor.failedStarts,
    'requests sent': ledger.requests,
    'responses lost': ledger.lost,
    'responses of 503': ledger.unavailable,
    'responses replayed': ledger.replays,
    'orders refused: not enough stock': works.filter(({ refused }) => refused).length,
    'users acknowledged': works.filter(({ kind, response }) => kind === 'user' && response).length,
    'orders acknowledged': works.filter(({ kind, response }) => kind === 'order' && response).length,
    'orders stored': orders.length,
    ...Object.fromEntries(KINDS.map((kind) => [`**${kind}**`, findings.count(kind)])),
  };
  return { counts, reported: findings.reported };
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
    const received = ledger.received + MIN_RESPONSES;
    while (ledger.received < received) await pause(LOOK_AGAIN_MS);
    await supervisor.kill();
  }
  await pause(Math.max(0, start + msEach - performance.now()));
  return killed;
}
