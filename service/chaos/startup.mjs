/**
 * The time from the start of the process to the first response, and the memory it then holds:
 * `node service/chaos/startup.mjs [--times 5] [--host both] [--database all] [--write]`. The database exists already.
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from './support/client.mjs';
import { requestText } from '@ambit/host-contract';
import { withDatabase } from './support/database.mjs';
import { readOptions } from './support/options.mjs';
import { report, say, table } from './support/report.mjs';
import { startServer, stopServer } from './support/server.mjs';

const IDLE_MS = 1000;
const USERS = requestText({ path: '/api/users' });

const options = readOptions({ times: 5 });

/** @type {string[][]} */
const rows = [];
/** @type {string[]} */
const violations = [];
for (const kind of options.databases) {
  for (const host of options.hosts) {
    const title = `${host}, ${kind}`;
    say(title);
    await withDatabase(kind, async ({ env }) => {
      const empty = await start(title, host, env);
      const later = [];
      for (let i = 0; i < options.times; i++) later.push(await start(title, host, env));
      rows.push([
        title,
        `${empty.firstResponseMs.toFixed()} ms`,
        `${median(later.map(({ firstResponseMs }) => firstResponseMs)).toFixed()} ms`,
        `${median(later.map(({ residentMb }) => residentMb)).toFixed()} MB`,
      ]);
    });
  }
}
const head = ['', 'on an empty database', `first response, median of ${options.times}`, 'resident when idle'];
report(options.sectionOf('startup'), table(head, rows), violations, options.write);

/**
 * @param {string} title
 * @param {import('./support/server.mjs').HostVariant} host
 * @param {Record<string, string>} env
 */
async function start(title, host, env) {
  const begin = performance.now();
  const server = await startServer(host, env);
  const client = new Client(() => server.url);
  const response = await client.send(USERS);
  const firstResponseMs = performance.now() - begin;
  if (response?.status !== 200)
    violations.push(`${title}: the first response was ${response?.status} ${response?.text}`);
  client.close();
  await pause(IDLE_MS);
  const residentMb = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(server.process.pid)])) / 1024;
  await stopServer(server);
  return { firstResponseMs, residentMb };
}

/** @param {number[]} values */
function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
