/**
 * How many acknowledged orders are lost when processes are killed, when the power fails, and when the disk is lost:
 * `node service/chaos/losses.mjs [--rounds 3] [--seconds 2] [--host both] [--database all] [--only Litestream]
 * [--write]`. `--only` is a part of a setting's name.
 * A power failure is tried on a file system of its own, which needs root and the package "xfsprogs"; it is skipped otherwise.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { readOptions } from './support/options.mjs';
import { LEVEL, OrderLoad, STOCKED } from './support/order-load.mjs';
import { canCutPower, OwnDisk } from './support/own-disk.mjs';
import { exited, signal } from './support/postgres-node.mjs';
import { PROTECTIONS } from './support/protections.mjs';
import { checkRestored } from './support/restored.mjs';
import { report, say, table } from './support/report.mjs';
import { environment, startServer } from './support/server.mjs';

const COMMAND = fileURLToPath(new URL('../dist/stock.js', import.meta.url));
const STOCK = new Map([[STOCKED, LEVEL]]);
/** @type {Record<import('./support/protections.mjs').Failure, string>} */
const FAILURES = { kill: 'all processes killed', power: 'power failure', disk: 'disk lost, copy used' };

const options = readOptions({ rounds: 3, seconds: 2 });
/** @type {string[]} */
const violations = [];
for (const database of options.databases) {
  const rows = [];
  for (const protection of PROTECTIONS.filter(
    (each) => each.database === database && each.name.includes(options.only),
  )) {
    const cells = [];
    for (const failure of /** @type {import('./support/protections.mjs').Failure[]} */ (Object.keys(FAILURES))) {
      const possible = protection.tried.includes(failure) && (failure !== 'power' || canCutPower());
      cells.push(possible ? await tried(protection, failure) : '');
    }
    rows.push([protection.name, ...cells]);
  }
  report(`losses-${database}`, table(['', ...Object.values(FAILURES)], rows), violations, options.write);
}

/**
 * @param {import('./support/protections.mjs').Protection} protection
 * @param {import('./support/protections.mjs').Failure} failure
 */
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
 * @param {import('./support/protections.mjs').Protection} protection
 * @param {import('./support/protections.mjs').Failure} failure
 * @param {import('./support/server.mjs').HostVariant} host
 */
async function tryOnce(protection, failure, host) {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-losses-'));
  chmodSync(folder, 0o755);
  const disk = failure === 'power' ? new OwnDisk(folder) : undefined;
  const database = await protection.open(disk?.path ?? join(folder, 'local'), join(folder, 'copies'));
  /** @type {number[]} */
  let pids = [];
  try {
    const server = await startServer(host, database.env);
    pids = [server.process.pid ?? 0];
    // By the command, in a process that exits, because a driver in this one may keep the file open.
    execFileSync(process.execPath, [COMMAND, 'set', STOCKED, String(LEVEL)], { env: environment(host, database.env) });
    await database.protect();
    disk?.sync();

    const load = new OrderLoad(server.url, 'load');
    await pause(options.seconds * 1000);
    pids = [...(await database.pids()), server.process.pid ?? 0];
    const failedAt = performance.now();
    for (const pid of pids) signal(pid, 'SIGSTOP');
    disk?.cutPower();
    for (const pid of pids) signal(pid, 'SIGKILL');
    await exited(pids);
    await load.end();
    disk?.powerOn();
    const { acknowledged, refused } = load;
    if (refused.length > 0) violations.push(`${protection.name}: ${refused.length} orders refused: ${refused[0]}`);

    const all = { acknowledged: acknowledged.length, lost: acknowledged.length, lostMs: options.seconds * 1000 };
    try {
      await (failure === 'disk' ? database.restore() : database.restart());
      const missing = await checkRestored(database, host, acknowledged, STOCK);
      const lostMs = missing.length > 0 ? Math.max(0, failedAt - Math.min(...missing.map(({ at }) => at))) : 0;
      return { ...all, lost: missing.length, lostMs, unusable: '' };
    } catch (error) {
      return { ...all, unusable: error instanceof Error ? error.message : String(error) };
    }
  } finally {
    for (const pid of pids) signal(pid, 'SIGKILL');
    await exited(pids);
    await database.close();
    disk?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
