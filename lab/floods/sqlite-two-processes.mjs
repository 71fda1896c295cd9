/**
 * Nothing acknowledged is lost where several processes use one SQLite file on a busy machine: `[--seconds 600]
 * [--node 20,24,26]`.
 *
 * One process inserts through `createSqlitePool()`, a second one checkpoints in a loop, a third one runs `npm run stock` of the service on
 * the same file, and ten busy processes take the processor away from them at any moment. SQLite 3.7.0 to 3.51.2 loses committed pages
 * here; a pool on such a version keeps other processes out, and the ledger then shows their errors.
 */
import { execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { nodeBinary } from '../../tools/on-node.mjs';

const THIS = fileURLToPath(import.meta.url);
const SERVICE = fileURLToPath(new URL('../../service/dist/main.js', import.meta.url));
const STOCK = fileURLToPath(new URL('../../service/dist/stock.js', import.meta.url));
const BUSY_PROCESSES = 10;
/** Commits that wait for no disk are more, so a race is met sooner. */
const MEMORY = '/dev/shm';
/** In the error of a process that is kept out. */
const KEPT_OUT = /another process/i;

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    node: { type: 'string' },
    role: { type: 'string', default: 'all' },
    folder: { type: 'string', default: '' },
    acknowledged: { type: 'string', default: '{}' },
  },
});
const open = () => createSqlitePool({ path: join(options.folder, 'ambit.db') });
/** @type {Record<string, () => Promise<void>>} */
const roles = { all, write, checkpoint, stock, ledger };
await roles[options.role]?.();

async function all() {
  if (options.node === undefined) await tryOn(process.execPath);
  else for (const version of options.node.split(',')) await tryOn(nodeBinary(version));
}

/** @param {string} node */
async function tryOn(node) {
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'ambit-'));
  /** The last number of each process that was acknowledged, and its error. @type {Record<string, number | string>} */
  const acknowledged = {};
  const start = (/** @type {string} */ role) =>
    fork(THIS, ['--role', role, '--folder', folder], { execPath: node }).on('message', (message) =>
      Object.assign(acknowledged, message),
    );
  await createTables(node, folder);
  const busy = Array.from({ length: BUSY_PROCESSES }, () => spawn(node, ['-e', 'for (;;);'], { stdio: 'ignore' }));
  const writer = start('write');
  await once(writer, 'message');
  const processes = [writer, start('checkpoint'), start('stock')];
  const until = Date.now() + Number(options.seconds) * 1000;
  do await pause(100);
  while (Date.now() < until && acknowledged['damage'] === undefined);
  for (const child of [...processes, ...busy]) child.kill('SIGKILL');
  for (const child of processes) if (child.signalCode === null && child.exitCode === null) await once(child, 'close');
  const args = [THIS, '--role', 'ledger', '--folder', folder, '--acknowledged', JSON.stringify(acknowledged)];
  const [code] = await once(spawn(node, args, { stdio: 'inherit' }), 'close');
  if (code !== 0 || acknowledged['damage'] !== undefined) process.exitCode = 1;
  // The last command of `stock` outlives the process that started it.
  rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
}

/** The service does it when it starts. @param {string} node @param {string} folder */
async function createTables(node, folder) {
  const service = spawn(node, [SERVICE], { env: { ...process.env, DATA_DIR: folder, PORT: '0' } });
  await once(service.stdout, 'data');
  service.kill('SIGTERM');
  await once(service, 'close');
}

async function write() {
  const pool = open();
  await pool.query('CREATE TABLE acknowledged (n INTEGER PRIMARY KEY, text TEXT NOT NULL)');
  for (let rows = 0; ;) {
    await repeat('rows', async () => {
      for (let n = 0; n < 100; n += 1) {
        await pool.query('INSERT INTO acknowledged VALUES ($1, $2)', [rows + 1, 'x'.repeat(rows % 500)]);
        rows += 1;
      }
      return rows;
    });
  }
}

async function checkpoint() {
  const pool = open();
  for (let checkpoints = 0; ;) {
    await repeat('checkpoints', async () => {
      for (let n = 0; n < 1000; n += 1) await pool.query('PRAGMA wal_checkpoint(PASSIVE)');
      checkpoints += 1000;
      return checkpoints;
    });
  }
}

async function stock() {
  const env = { ...process.env, DATA_DIR: options.folder };
  for (let level = 1; ; level += 1) {
    await repeat('level', async () => {
      await promisify(execFile)(process.execPath, [STOCK, 'set', 'book', String(level)], { env });
      return level;
    });
  }
}

/** Reports what is stored; or that another process has the file, or that the file is damaged. @param {() => Promise<number>} work */
async function repeat(/** @type {string} */ name, work) {
  try {
    report({ [name]: await work() });
  } catch (error) {
    const { message, cause, stderr = '' } = /** @type {Error & { stderr?: string }} */ (error);
    const text = [message, stderr, cause instanceof Error ? cause.message : ''].join(' ');
    report(KEPT_OUT.test(text) ? { [`${name} refused`]: text } : { damage: `${name}: ${text}` });
    await pause(500);
  }
  await turn();
}

function report(/** @type {object} */ message) {
  process.send?.(message);
}

async function ledger() {
  /** @type {Record<string, number | string>} */
  const acknowledged = JSON.parse(options.acknowledged);
  for (const [name, value] of Object.entries(acknowledged)) console.log(`  ${name}: ${value}`);
  const pool = open();
  const one = async (/** @type {string} */ sql, /** @type {unknown[]} */ values = []) =>
    String(Object.values((await pool.query(sql, values))[0] ?? {})[0]);
  console.log(`Node ${process.version}, SQLite ${await one('SELECT sqlite_version()')}`);
  const { rows = 0, level = 0 } = acknowledged;
  const integrity = await one('PRAGMA integrity_check(1)');
  const found = await one('SELECT count(*) FROM acknowledged WHERE n <= $1', [rows]);
  const stored = await one("SELECT coalesce(max(level), 0) FROM stock WHERE product_id = 'book'");
  await pool.close();
  console.log(`  rows found: ${found} of ${rows}; level found: ${stored} of ${level}; integrity_check: ${integrity}`);
  const isWhole = Number(found) === Number(rows) && Number(stored) >= Number(level) && integrity === 'ok';
  console.log(isWhole ? 'nothing lost' : 'LOST');
  process.exitCode = isWhole ? 0 : 1;
}
