/**
 * One kind of attack after another on a service with a heap of 128 MB, beside clients that mean well:
 * `[--only 'stalled uploads'] [--seconds 8] [--heap 128] [--host express] [--database sqlite]`.
 */
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { requestText } from '@ambit/test-kit';
import { ATTACKS } from './attacks.mjs';
import { Client } from '../kit/http.mjs';
import { withDatabase } from '../kit/databases.mjs';
import { readOptions } from '../kit/options.mjs';
import { peakMemoryMb } from '../kit/program.mjs';
import { report, say, table } from '../kit/report.mjs';
import { startServer, stopServer } from '../kit/service.mjs';
import { setStock } from '../kit/stored.mjs';

const MOST_RSS_MB = 350;
/** Where one client tries to keep the others waiting; beside many clients, each waits for those that came before it. */
const LONGEST_WAIT_MS = 500;
const FLOOD = 'pipelined orders';
const SERVED_WITHIN_MS = 3000;
const USERS = 1000;
const BETWEEN_MS = 10;
/** What SIGTERM may take beyond the service's own limit. */
const SLACK_MS = 2000;
const SHUTDOWN_MS = 4000;

/** @typedef {import('../kit/databases.mjs').Database} Database */
/** @typedef {import('../kit/options.mjs').Host} Host */
/** @typedef {{ waits: number[], failed: string[] }} Visits */

const options = readOptions({ seconds: 8, heap: 128 });
const attacks = Object.keys(ATTACKS).filter((name) => options.only === '' || name === options.only);
if (attacks.length === 0)
  throw new Error(`--only must be one of ${Object.keys(ATTACKS).join(', ')}, not ${options.only}`);

/** @type {(string | number)[][]} */
const rows = [];
/** @type {string[]} */
const violations = [];
for (const attack of attacks) {
  for (const host of options.hosts) {
    for (const kind of options.databases) {
      const title = `${attack}, ${host}, ${kind}`;
      say(title);
      await withDatabase(
        kind,
        async (database) => void rows.push([title, ...(await run(title, attack, host, database))]),
      );
    }
  }
}
const head = ['', 'received by the attack', 'longest wait beside it', 'failed beside it', 'peak memory', 'exit'];
report(table(head, rows), violations);

/**
 * @param {string} title
 * @param {string} attack
 * @param {Host} host
 * @param {Database} database
 */
async function run(title, attack, host, database) {
  const server = await startServer(host, {
    ...database.env,
    NODE_OPTIONS: `--max-old-space-size=${options.heap}`,
    SHUTDOWN_TIMEOUT_MS: String(SHUTDOWN_MS),
  });
  let peakMb = 0;
  const measuring = setInterval(() => (peakMb = Math.max(peakMb, peakMemoryMb(server.process.pid))), 100);
  let hasExited = false;
  void server.exited.then(() => (hasExited = true));
  await setStock(database, new Map([['apple', 1_000_000]]));
  const userId = await createUsers(server.url);

  const worker = new Worker(new URL('./attacks.mjs', import.meta.url), {
    workerData: { attack, url: server.url },
  });
  const over = new AbortController();
  /** @type {Visits} */
  const visits = { waits: [], failed: [] };
  const visitors = [visit('/health/live', 200), visit(`/api/users/${userId}`, 200)];
  await once(worker, 'message');
  await pause(options.seconds * 1000);
  over.abort();
  await Promise.all(visitors);
  const isAlive = !hasExited;
  const stopped = isAlive ? await stopServer(server) : { ...(await server.exited), ms: 0 };
  clearInterval(measuring);
  const received = once(worker, 'message');
  worker.postMessage('end', []);
  const [{ opened, refused, closed, statuses }] = await received;

  const longest = Math.max(0, ...visits.waits);
  const violate = (/** @type {string} */ what) => violations.push(`${title}: ${what}`);
  if (!isAlive) violate(`the process exited, ${server.errors.at(-1) ?? ''}`);
  if (visits.failed.length > 0) violate(`beside it: ${visits.failed[0]}`);
  const longestAllowed = attack === FLOOD ? LONGEST_WAIT_MS : SERVED_WITHIN_MS;
  if (longest > longestAllowed) violate(`another client waited ${longest.toFixed()} ms`);
  if (peakMb > MOST_RSS_MB) violate(`${peakMb.toFixed()} MB of memory`);
  if (isAlive && stopped.code !== 0)
    violate(`exit code ${stopped.code ?? stopped.signal}, ${server.errors.at(-1) ?? ''}`);
  if (stopped.ms > SHUTDOWN_MS + SLACK_MS) violate(`exit after ${stopped.ms.toFixed()} ms`);
  const counts = Object.entries(statuses).map(([status, count]) => `${count} x ${status}`);
  return [
    [...counts, `${closed} of ${opened} closed`, ...(refused > 0 ? [`${refused} refused`] : [])].join(', '),
    `${longest.toFixed()} ms of ${visits.waits.length}`,
    visits.failed.length,
    `${peakMb.toFixed()} MB`,
    `${stopped.code ?? stopped.signal} after ${stopped.ms.toFixed()} ms`,
  ];

  /** @param {string} path @param {number} expected */
  async function visit(path, expected) {
    const client = new Client(() => server.url);
    const bytes = requestText({ path });
    while (!over.signal.aborted) {
      const sentAt = performance.now();
      const response = await client.send(bytes).catch((/** @type {unknown} */ error) => ({ status: String(error) }));
      visits.waits.push(performance.now() - sentAt);
      if (response?.status !== expected)
        visits.failed.push(`GET ${path}: ${response?.status ?? 'lost'} ${server.errors.at(-1) ?? ''}`);
      if (hasExited) break;
      await pause(BETWEEN_MS);
    }
    client.close();
  }
}

/** @param {string} url */
async function createUsers(url) {
  const client = new Client(() => url);
  let id = '';
  for (let i = 0; i < USERS; i += 1) {
    const body = { name: `user ${i} ${'x'.repeat(150)}`, email: `user${i}@example.org` };
    const response = await client.send(requestText({ method: 'POST', path: '/api/users', body }));
    id = JSON.parse(response?.text ?? '{}').id;
  }
  client.close();
  return id;
}
