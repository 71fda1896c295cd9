/**
 * How many acknowledged orders are lost when processes are killed, when the power fails, when the disk is lost, and when everything is
 * deleted by mistake and restored to the moment before: `[--rounds 3] [--seconds 2] [--only Litestream] [--host express] [--database
 * sqlite]`; `--only` is a part of a setting's name. A power failure is tried on a file system of its own, which needs root and the package
 * "xfsprogs"; it is skipped otherwise.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { canCutPower, OwnDisk } from '../kit/disk.mjs';
import { readOptions } from '../kit/options.mjs';
import { haveExited, send, temporaryFolder } from '../kit/program.mjs';
import { report, say, table } from '../kit/report.mjs';
import { environment, startServer, STOCK_COMMAND } from '../kit/service.mjs';
import { checkRestored, LEVEL, OrderLoad, STOCKED } from './order-load.mjs';
import { PROTECTIONS } from './protections.mjs';

/** @typedef {import('./protections.mjs').Protection} Protection */
/** @typedef {import('./protections.mjs').Failure} Failure */

const STOCK = new Map([[STOCKED, LEVEL]]);
/** Longer than both archives need to copy what was committed: `archive_timeout = 1s`, and Litestream's second. */
const ARCHIVED_MS = 4000;
/** @type {Record<Failure, string>} */
const FAILURES = {
  kill: 'all processes killed',
  power: 'power failure',
  disk: 'disk lost, copy used',
  mistake: 'all deleted, restored to before',
};

const options = readOptions({ rounds: 3, seconds: 2 });
const parent = temporaryFolder('losses');
/** @type {string[]} */
const violations = [];
const rows = [];
for (const protection of PROTECTIONS) {
  if (!options.databases.includes(protection.database) || !protection.name.includes(options.only)) continue;
  const cells = [];
  for (const failure of /** @type {Failure[]} */ (Object.keys(FAILURES))) {
    const possible = protection.tried.includes(failure) && (failure !== 'power' || canCutPower());
    cells.push(possible ? await tried(protection, failure) : '');
  }
  rows.push([protection.name, ...cells]);
}
report(table(['', ...Object.values(FAILURES)], rows), violations);

/** @param {Protection} protection @param {Failure} failure */
async function tried(protection, failure) {
  const title = `${protection.name}, ${FAILURES[failure]}`;
  let [acknowledged, lost, lostMs, unusable] = [0, 0, 0, 0];
  for (let i = 0; i < options.rounds; i++) {
    const round = await tryOnce(protection, failure, options.hosts[i % options.hosts.length] ?? 'fastify');
    say(`${title}: ${JSON.stringify(round)}`);
    if (round.unusable && !protection.mayBreak) violations.push(`${title}: ${round.unusable}`);
    if (round.unusable) unusable++;
    if (round.lost > 0 && protection.keeps.includes(failure)) violations.push(`${title}: ${round.lost} orders lost`);
    acknowledged += round.acknowledged;
    lost += round.lost;
    lostMs = Math.max(lostMs, round.lostMs);
  }
  const broken = unusable > 0 ? `, unusable after ${unusable} of ${options.rounds}` : '';
  return `${lost} of ${acknowledged}${lost > 0 ? `: the last ${lostMs.toFixed()} ms` : ''}${broken}`;
}

/**
 * @param {Protection} protection
 * @param {Failure} failure
 * @param {import('../kit/options.mjs').Host} host
 */
async function tryOnce(protection, failure, host) {
  const folder = mkdtempSync(join(parent, 'try-'));
  execFileSync('chmod', ['755', folder]);
  const disk = failure === 'power' ? new OwnDisk(folder) : undefined;
  const database = await protection.open(disk?.path ?? join(folder, 'local'), join(folder, 'copies'));
  /** @type {number[]} */
  let pids = [];
  try {
    const server = await startServer(host, database.env);
    pids = [server.process.pid ?? 0];
    // By the command, in a process that exits, because a driver in this one may keep the file open.
    execFileSync(process.execPath, [STOCK_COMMAND, 'set', STOCKED, String(LEVEL)], {
      env: environment(host, database.env),
    });
    await database.protect();
    disk?.sync();

    const load = new OrderLoad(server.url, 'load');
    await pause(options.seconds * 1000);
    const { acknowledged, refused } = load;
    /** @type {Date | undefined} */
    let until;
    if (failure === 'mistake') {
      await load.end();
      until = await deleteEverything(database, server.url);
    }
    pids = [...database.pids(), server.process.pid ?? 0];
    const failedAt = performance.now();
    for (const pid of pids) send(pid, 'SIGSTOP');
    disk?.cutPower();
    for (const pid of pids) send(pid, 'SIGKILL');
    await haveExited(pids);
    await load.end();
    disk?.powerOn();
    if (refused.length > 0) violations.push(`${protection.name}: ${refused.length} orders refused: ${refused[0]}`);

    const all = { acknowledged: acknowledged.length, lost: acknowledged.length, lostMs: options.seconds * 1000 };
    try {
      await (failure === 'disk' || until ? database.restore(until) : database.restart());
      if (until) await mustHaveOnly(database, acknowledged.length);
      const missing = await checkRestored(database, host, acknowledged, STOCK);
      const lostMs = missing.length > 0 ? Math.max(0, failedAt - Math.min(...missing.map(({ at }) => at))) : 0;
      return { ...all, lost: missing.length, lostMs, unusable: '' };
    } catch (error) {
      return { ...all, unusable: error instanceof Error ? error.message : String(error) };
    }
  } finally {
    for (const pid of pids) send(pid, 'SIGKILL');
    await haveExited(pids);
    await database.close();
    disk?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Somebody deletes all orders, and more are placed.
 * @param {import('./protected.mjs').ProtectedDatabase} database
 * @param {string} url
 * @returns {Promise<Date>} a moment before the mistake
 */
async function deleteEverything(database, url) {
  await pause(ARCHIVED_MS / 2);
  const before = new Date();
  await pause(ARCHIVED_MS / 2);
  for (const rowsOf of ['order_items', 'orders', 'reservations']) await database.query(`DELETE FROM ${rowsOf}`);
  const later = new OrderLoad(url, 'later');
  await pause(options.seconds * 1000);
  await later.end();
  await pause(ARCHIVED_MS);
  return before;
}

/** Throws if the restored database has orders placed after the mistake. @param {import('./protected.mjs').ProtectedDatabase} database @param {number} count */
async function mustHaveOnly(database, count) {
  const [{ n } = { n: 0 }] = await database.query('SELECT count(*) AS n FROM orders');
  if (Number(n) > count) throw new Error(`${n} orders restored, ${count} acknowledged before`);
}
