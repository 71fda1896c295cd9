/**
 * Goes back to the moment before a mistake, with PostgreSQL's archive and with Litestream:
 * `node service/chaos/point-in-time.mjs [--seconds 2] [--host fastify] [--database both] [--write]`.
 * MariaDB has no part in it: its way to a point in time, the binary log, was not tried.
 * Orders are placed, then somebody deletes all of them, then more are placed. The database is restored to a time between the
 * first orders and the mistake: every acknowledged order of before must be there, and no other.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readOptions } from './support/options.mjs';
import { LEVEL, OrderLoad, STOCKED } from './support/order-load.mjs';
import { exited, signal } from './support/postgres-node.mjs';
import { PROTECTIONS } from './support/protections.mjs';
import { report, say, table } from './support/report.mjs';
import { checkRestored } from './support/restored.mjs';
import { environment, startServer } from './support/server.mjs';

const COMMAND = fileURLToPath(new URL('../dist/stock.js', import.meta.url));
const STOCK = new Map([[STOCKED, LEVEL]]);
/** Longer than both archives need to copy what was committed: `archive_timeout = 1s`, and Litestream's second. */
const ARCHIVED_MS = 4000;

const options = readOptions({ seconds: 2 }, ['postgres', 'sqlite']);
/** @type {string[]} */
const violations = [];
const rows = [];
for (const protection of PROTECTIONS.filter((each) => each.pointInTime && options.databases.includes(each.database))) {
  for (const host of options.hosts) {
    const row = await goBack(protection, host);
    say(row.join(', '));
    rows.push(row);
  }
}
report(
  options.sectionOf('point-in-time'),
  table(['', 'acknowledged before', 'of these missing', 'placed later', 'restored in'], rows),
  violations,
  options.write,
);

/**
 * @param {import('./support/protections.mjs').Protection} protection
 * @param {import('./support/server.mjs').HostVariant} host
 */
async function goBack(protection, host) {
  const title = `${host}, ${protection.name}`;
  const folder = mkdtempSync(join(tmpdir(), 'chaos-point-in-time-'));
  chmodSync(folder, 0o755);
  const database = await protection.open(join(folder, 'local'), join(folder, 'copies'));
  /** @type {number[]} */
  let pids = [];
  try {
    const server = await startServer(host, database.env);
    pids = [server.process.pid ?? 0];
    execFileSync(process.execPath, [COMMAND, 'set', STOCKED, String(LEVEL)], { env: environment(host, database.env) });
    await database.protect();
    pids = [...(await database.pids()), ...pids];

    const before = await place(server.url, 'before');
    await pause(ARCHIVED_MS / 2);
    const until = new Date();
    await pause(ARCHIVED_MS / 2);
    for (const rowsOf of ['order_items', 'orders', 'reservations']) await database.query(`DELETE FROM ${rowsOf}`);
    const after = await place(server.url, 'after');
    await pause(ARCHIVED_MS);
    for (const pid of pids) signal(pid, 'SIGKILL');
    await exited(pids);

    const start = performance.now();
    await database.restore(until);
    const seconds = (performance.now() - start) / 1000;
    const [{ n } = { n: 0 }] = await database.query('SELECT count(*) AS n FROM orders');
    const missing = await checkRestored(database, host, before, STOCK);
    if (missing.length > 0) violations.push(`${title}: ${missing.length} orders of before are missing`);
    if (Number(n) !== before.length) violations.push(`${title}: ${n} orders restored, ${before.length} acknowledged`);
    return [title, before.length, missing.length, after.length, `${seconds.toFixed(1)} s`];
  } finally {
    for (const pid of pids) signal(pid, 'SIGKILL');
    await exited(pids);
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} url
 * @param {string} name
 */
async function place(url, name) {
  const load = new OrderLoad(url, name);
  await pause(options.seconds * 1000);
  await load.end();
  return load.acknowledged;
}
