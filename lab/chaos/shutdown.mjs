/**
 * Stops the service under load: `[--rounds 3] [--pipelined 4] [--host express] [--database sqlite]`.
 * A request counts as accepted when its bytes, or the first of an upload, were with the server's system before the signal
 * was sent, or when the server read it later. All of these must get a response. What was never read is reset, and the
 * client may safely send it to another instance.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Lost } from '../kit/http.mjs';
import { withDatabase } from '../kit/databases.mjs';
import { readOptions } from '../kit/options.mjs';
import { report, say, table } from '../kit/report.mjs';
import { startServer, stopServer } from '../kit/service.mjs';
import { Findings, readOrders } from '../kit/stored.mjs';
import { Visitors } from './visitors.mjs';

const LOAD_MS = 1000;
const UPLOADS_MS = [400, 800, 1200, 1600];
/** A server that closes accepts the connections before it for two seconds at most. */
const SLACK_MS = 2300;

/** @typedef {import('./visitors.mjs').Visit} Visit */

const options = readOptions({ rounds: 3, pipelined: 4 });

/** @type {(string | number)[][]} */
const rows = [];
/** @type {string[]} */
const violations = [];
for (const host of options.hosts) {
  for (const kind of options.databases) {
    await withDatabase(kind, async (database) => {
      for (let round = 1; round <= options.rounds; round++) {
        const title = `${host}, ${kind}, ${round}`;
        say(title);
        const { row, findings } = await run(host, database);
        rows.push([title, ...row, findings.total]);
        violations.push(...findings.reported.map((line) => `${title}: ${line}`));
      }
    });
  }
}
const head = [
  '',
  'responses',
  'of these after the signal',
  'never read',
  'longest request',
  'exit after',
  'violations',
];
report(table(head, rows), violations);

/**
 * @param {import('../kit/options.mjs').Host} host
 * @param {import('../kit/databases.mjs').Database} database
 */
async function run(host, database) {
  const server = await startServer(host, database.env);
  const visitors = new Visitors(server.url);
  const busy = [
    ...times(12, () => visitors.keepAlive()),
    ...times(options.pipelined, () => visitors.keepAlive(3)),
    ...times(4, () => visitors.comeAndGo()),
    ...times(5, () => visitors.idle()),
    ...times(5, () => visitors.silent()),
  ];
  await pause(LOAD_MS);
  busy.push(...UPLOADS_MS.flatMap((ms) => times(2, () => visitors.upload(ms))));
  await pause(Math.random() * 100);

  const signalAt = performance.now();
  const stopped = await stopServer(server);
  visitors.stop();
  await Promise.all(busy);

  const findings = new Findings();
  if (stopped.code !== 0) findings.add('exit', `with ${stopped.code ?? stopped.signal}: ${server.errors.join('\n')}`);
  const completed = visitors.visits.filter(({ end }) => end && !(end instanceof Lost));
  const longest = Math.max(0, ...completed.map(({ sentAt, endedAt }) => endedAt - sentAt));
  if (stopped.ms > longest + SLACK_MS) {
    findings.add('exit', `after ${stopped.ms.toFixed()} ms, the longest request took ${longest.toFixed()} ms`);
  }
  for (const visit of visitors.visits) checkVisit(visit, signalAt, findings);
  await checkOrders(database, completed, findings);
  const row = [
    completed.length,
    completed.filter(({ endedAt }) => endedAt > signalAt).length,
    visitors.visits.length - completed.length,
    `${longest.toFixed()} ms`,
    `${stopped.ms.toFixed()} ms`,
  ];
  return { row, findings };
}

/**
 * @param {Visit} visit
 * @param {number} signalAt
 * @param {Findings} findings
 */
function checkVisit({ what, sentAt, endedAt, end }, signalAt, findings) {
  const when = `${what}, sent ${(signalAt - sentAt).toFixed(1)} ms before the signal`;
  if (!end) findings.add('no response', `${when}: no response`);
  else if (!(end instanceof Lost)) {
    if (end.status !== 201) findings.add('responses', `${when}: ${end.status} ${end.text}`);
  } else if (sentAt < signalAt || end.dropped) {
    const how = `${end.message}, ${(endedAt - signalAt).toFixed(1)} ms after the signal`;
    findings.add('no response', `${when}: ${how}`);
  }
}

/**
 * @param {import('../kit/databases.mjs').Database} database
 * @param {Visit[]} completed
 * @param {Findings} findings
 */
async function checkOrders(database, completed, findings) {
  const stored = new Set((await readOrders(database, findings)).map(({ id }) => id));
  for (const { end } of completed) {
    if (!end || end instanceof Lost || end.status !== 201) continue;
    const { id } = JSON.parse(end.text);
    if (!stored.has(id)) findings.add('acknowledged and missing', id);
  }
}

/**
 * @template T
 * @param {number} count
 * @param {() => T} make
 */
function times(count, make) {
  return Array.from({ length: count }, make);
}
