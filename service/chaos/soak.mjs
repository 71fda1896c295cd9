/**
 * Looks for leaks after very many requests:
 * `node service/chaos/soak.mjs [--requests 1000000] [--host both] [--database all] [--write]`, so many for each run.
 * Some clients disconnect at random points, some pipeline. The data is deleted regularly, so that it is not measured.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { withDatabase } from './support/database.mjs';
import { startMeasured } from './support/measured.mjs';
import { readOptions } from './support/options.mjs';
import { report, say, table } from './support/report.mjs';
import { Findings } from './support/stored.mjs';
import { Traffic } from './support/traffic.mjs';

const WARM_UP = 20_000;
const BETWEEN_CLEANINGS = 20_000;
const MOST_GROWTH_MB = 3;
/** How long the server may take to notice that its last clients have disconnected. */
const SETTLE_MS = 5000;
const LOOK_AGAIN_MS = 100;

/** @typedef {import('./support/measured.mjs').Measurement} Measurement */
/** @typedef {import('./support/measured.mjs').MeasuredServer} MeasuredServer */

const options = readOptions({ requests: 1_000_000 });

/** @type {string[][]} */
const rows = [];
/** @type {string[]} */
const violations = [];
for (const kind of options.databases) {
  for (const host of options.hosts) {
    const title = `${host}, ${kind}`;
    await withDatabase(kind, async (database) => {
      const server = await startMeasured(host, database.env);
      const { row, findings } = await run(title, server, database);
      await server.stop();
      rows.push([title, ...row, String(findings.total)]);
      violations.push(...findings.reported.map((line) => `${title}: ${line}`));
    });
  }
}
const head = [
  '',
  'requests',
  'aborted',
  'pipelined',
  'per second',
  'heap, MB',
  'resident, MB',
  'scopes left',
  'connections left',
  'pool open/idle',
  'violations',
];
report(options.sectionOf('soak'), table(head, rows), violations, options.write);

/**
 * @param {string} title
 * @param {MeasuredServer} server
 * @param {import('./support/database.mjs').Database} database
 */
async function run(title, server, database) {
  await send(new Traffic(server.url), server, Math.min(WARM_UP, options.requests));
  const before = await settled(server);
  const had = await resourcesOf(before, database);

  const traffic = new Traffic(server.url);
  const start = performance.now();
  await send(traffic, server, options.requests, (sent) => say(`${title}: ${sent}`));
  const perSecond = traffic.sent / ((performance.now() - start) / 1000);
  const after = await settled(server);

  const findings = new Findings();
  for (const [what, count] of traffic.unexpected) findings.add('responses', `${count} x ${what}`);
  const growth = megabytes(after.heapUsed) - megabytes(before.heapUsed);
  if (growth > MOST_GROWTH_MB) findings.add('heap', `grew by ${growth.toFixed(1)} MB`);
  if (after.openScopes > 0) findings.add('scopes', `${after.openScopes} are open`);
  if (!isIdle(after)) findings.add('pool', JSON.stringify(after.pool));
  const has = await resourcesOf(after, database);
  for (const [name, count] of Object.entries(has)) {
    if (count > (had[name] ?? 0)) findings.add('resources', `${count} x ${name}, ${had[name] ?? 0} before`);
  }
  const row = [
    traffic.sent,
    traffic.aborted,
    traffic.pipelined,
    perSecond.toFixed(),
    `${megabytes(before.heapUsed).toFixed(1)} -> ${megabytes(after.heapUsed).toFixed(1)}`,
    `${megabytes(before.rss).toFixed()} -> ${megabytes(after.rss).toFixed()}`,
    after.openScopes,
    (has['TCPSocketWrap'] ?? 0) - (had['TCPSocketWrap'] ?? 0),
    `${after.pool.open}/${after.pool.idle}`,
  ].map(String);
  return { row, findings };
}

/**
 * @param {Traffic} traffic
 * @param {MeasuredServer} server
 * @param {number} requests
 * @param {(sent: number) => void} [onPart]
 */
async function send(traffic, server, requests, onPart) {
  while (traffic.sent < requests) {
    await traffic.send(Math.min(BETWEEN_CLEANINGS, requests - traffic.sent));
    await settled(server);
    await server.empty();
    onPart?.(traffic.sent);
  }
}

/**
 * The measurement after the last connections have been closed.
 * @param {MeasuredServer} server
 */
async function settled(server) {
  const deadline = performance.now() + SETTLE_MS;
  let now = await server.measure();
  while (performance.now() < deadline && !(now.openScopes === 0 && isIdle(now))) {
    await pause(LOOK_AGAIN_MS);
    now = await server.measure();
  }
  return now;
}

/** @param {Measurement} measurement */
function isIdle({ pool: { open, idle, waiting } }) {
  return open === idle && waiting === 0;
}

/**
 * The pool opens and closes its own connections as it needs them, so they are not counted.
 * @param {Measurement} measurement
 * @param {import('./support/database.mjs').Database} database
 * @returns {Promise<Record<string, number>>}
 */
async function resourcesOf({ resources }, database) {
  const sockets = resources['TCPSocketWrap'] ?? 0;
  return { ...resources, TCPSocketWrap: sockets - (await database.sessions()).length };
}

/** @param {number} bytes */
function megabytes(bytes) {
  return bytes / 2 ** 20;
}
