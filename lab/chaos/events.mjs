/**
 * Kills the service under load, and then checks that the event of everything that was committed has arrived: `[--seconds 30] [--kills 2]
 * [--host fastify] [--database sqlite]`. On PostgreSQL and MariaDB two instances share the database, on SQLite there is one; each run has
 * so many kills. The receiver refuses events, hangs, and loses its response after it took one. Further transactions publish with a few
 * keys, for the order.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { crowd, replay } from '../kit/crowd.mjs';
import { withDatabase } from '../kit/databases.mjs';
import { EventSink } from './event-sink.mjs';
import { Ledger } from '../kit/ledger.mjs';
import { readOptions } from '../kit/options.mjs';
import { oneOf } from '../kit/random.mjs';
import { report, say, tableOfCounts } from '../kit/report.mjs';
import { Steps } from './steps.mjs';
import { Findings } from '../kit/stored.mjs';
import { Supervisor } from '../kit/service.mjs';

/** Without any arrival: more than the time limit of a delivery, the claim of a killed instance and the pauses after a few failures. */
const STUCK_AFTER_MS = 45_000;
const LOOK_AGAIN_MS = 50;
const KINDS = [
  'committed and not received',
  'received and not committed',
  'out of order',
  'forged',
  'left behind',
  'process',
];

const options = readOptions({ seconds: 30, kills: 2 });
const runs = options.databases.flatMap((database) => options.hosts.map((host) => ({ host, database })));
const msEach = (options.seconds * 1000) / runs.length;

/** @type {{ title: string, counts: Record<string, number>, reported: string[] }[]} */
const results = [];
for (const { host, database: kind } of runs) {
  await withDatabase(kind, async (database) => {
    const instances = database.isEmbedded ? 1 : 2;
    const title = `${host}, ${kind}, ${instances} x`;
    say(`${title}: ${msEach / 1000} s`);
    results.push({ title, ...(await run(host, database, instances)) });
  });
}
report(
  tableOfCounts(results),
  results.flatMap(({ title, reported }) => reported.map((line) => `${title}: ${line}`)),
);

/**
 * @param {import('../kit/options.mjs').Host} host
 * @param {import('../kit/databases.mjs').Database} database
 * @param {number} instances
 */
async function run(host, database, instances) {
  const sink = new EventSink();
  const env = { ...database.env, ...(await sink.listen()) };
  const supervisors = Array.from({ length: instances }, () => new Supervisor(host, env));
  await Promise.all(supervisors.map(({ server }) => server));
  const steps = new Steps(database);
  await steps.prepare();

  const ledger = new Ledger(['untracked']);
  const over = new AbortController();
  const url = async () => (await oneOf(/** @type {[Supervisor]} */ (supervisors)).server).url;
  const clients = crowd(url, ledger, over.signal);
  const writing = steps.write(over.signal);
  const killed = await killRepeatedly(supervisors);
  over.abort();
  await Promise.all([clients, writing]);
  await replay(await url(), ledger);

  sink.calm = true;
  const findings = new Findings();
  const arrived = await everythingArrived(database, findings);
  const ends = await Promise.all(supervisors.map((supervisor) => supervisor.stop()));
  for (const { code, signal } of ends)
    if (code !== 0) findings.add('process', `after SIGTERM it exited with ${code ?? signal}`);
  for (const crash of supervisors.flatMap(({ crashes }) => crashes)) findings.add('process', crash);

  const stored = await storedIds(database);
  const committed = await steps.committed();
  check(sink, stored, committed, findings);
  await steps.close();
  sink.close();

  /** @type {Record<string, number>} */
  const counts = {
    'servers killed': killed,
    'requests sent': ledger.requests,
    'users and orders committed': stored.size,
    'steps of 5 keys committed': [...committed.values()].flat().length,
    'steps rolled back': steps.rolledBack,
    'events received': sink.events.length,
    'deliveries refused': sink.refused,
    'deliveries without a response': sink.hung,
    'deliveries repeated': sink.repeated,
    'ms until the last arrived': arrived,
    ...Object.fromEntries(KINDS.map((kind) => [`**${kind}**`, findings.count(kind)])),
  };
  return { counts, reported: findings.reported };
}

/**
 * Evenly over the time of the run, in turn.
 * @param {Supervisor[]} supervisors
 */
async function killRepeatedly(supervisors) {
  const start = performance.now();
  let killed = 0;
  for (; killed < options.kills; killed++) {
    await pause(Math.max(0, start + (msEach * (killed + 1)) / (options.kills + 1) - performance.now()));
    await supervisors[killed % supervisors.length]?.kill();
  }
  await pause(Math.max(0, start + msEach - performance.now()));
  return killed;
}

/**
 * @param {import('../kit/databases.mjs').Database} database
 * @param {Findings} findings
 */
async function everythingArrived(database, findings) {
  const start = performance.now();
  let [left, changedAt] = [Infinity, start];
  while (left > 0) {
    await pause(LOOK_AGAIN_MS);
    const [row] = await database.query('SELECT count(*) AS waiting FROM outbox');
    const now = performance.now();
    if (Number(row?.['waiting']) !== left) [left, changedAt] = [Number(row?.['waiting']), now];
    if (now - changedAt > STUCK_AFTER_MS) break;
  }
  const rows = await database.query('SELECT id, topic, state, last_error FROM outbox LIMIT 10');
  for (const row of rows) findings.add('left behind', JSON.stringify(row));
  return Math.round(performance.now() - start);
}

/** @param {import('../kit/databases.mjs').Database} database */
async function storedIds(database) {
  const rows = await database.query('SELECT id FROM users UNION ALL SELECT id FROM orders');
  return new Set(rows.map(({ id }) => String(id)));
}

/**
 * @param {EventSink} sink
 * @param {Set<string>} stored
 * @param {Map<string, string[]>} committed
 * @param {Findings} findings
 */
function check(sink, stored, committed, findings) {
  const isStep = (/** @type {import('./event-sink.mjs').ReceivedEvent} */ { type }) => type === 'step';
  const received = new Set(sink.events.filter((event) => !isStep(event)).map(({ subject }) => subject));
  for (const id of stored) if (!received.has(id)) findings.add('committed and not received', id);
  for (const id of received) if (!stored.has(id)) findings.add('received and not committed', id);
  for (const body of sink.forged) findings.add('forged', body);
  for (const [key, marks] of committed) {
    const got = sink.events
      .filter((event) => isStep(event) && event.subject === key)
      .map(({ data }) => String(data['mark']));
    for (const mark of marks) if (!got.includes(mark)) findings.add('committed and not received', `${key}: ${mark}`);
    for (const mark of got) if (!marks.includes(mark)) findings.add('received and not committed', `${key}: ${mark}`);
    const wrong = got.findIndex((mark, index) => mark !== marks[index]);
    if (wrong >= 0) findings.add('out of order', `${key}: ${got[wrong]} arrived where ${marks[wrong]} was committed`);
  }
}
