import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { link, lstat, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { TransactionError } from '../errors.js';
import { codeOf } from '../sql-state.js';
import { translated } from './errors.js';
import { loadSqlite, withName } from './node-sqlite.js';

/** For a database that another process has to itself; this wait does not block the event loop. */
const BUSY_MS = 5000;
/** The errors of file systems without hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** The database to back up, and its copy. */
export interface SqliteBackupOptions {
  /** The database file. Pools of this and other processes may read and write it meanwhile. */
  readonly filename: string;
  /** The file to write, in a folder that exists. A file that is there already is never overwritten. */
  readonly to: string;
}

/**
 * Copies a SQLite database while it is in use: everything that was committed when the copy began, as one file with no
 * `-wal` beside it. The copy is checked with `PRAGMA integrity_check` and flushed to the disk before it gets its name,
 * so a file called `to` is always a whole backup. It runs on a thread of its own and does not block the event loop.
 *
 * @param options - the file of the database, and the file to write
 * @throws `TransactionError` `AMBIT_TX_FILE`: no backup was written; `cause` says why, such as that `to` exists already
 * @throws `TransactionError` `AMBIT_OPTION`: `filename` or `to` names no file
 *
 * @example
 * ```ts
 * import { backupSqlite } from '@ambit/transaction/sqlite';
 *
 * async function backUp(): Promise<void> {
 *   await backupSqlite({ filename: 'data/shop.db', to: `backups/shop-${Date.now()}.db` });
 * }
 * ```
 */
export async function backupSqlite(options: SqliteBackupOptions): Promise<void> {
  const filename = absolute('filename', options.filename);
  const to = absolute('to', options.to);
  const partial = join(dirname(to), `.${basename(to)}.${randomUUID()}.partial`);
  try {
    if (await exists(to)) throw alreadyThere(to);
    // A backup is no more readable than the database. It also says when there is no database, which SQLite would create.
    await create(partial, await modeOf(filename));
    await copy(filename, partial);
    await flush(partial);
    await giveName(partial, to);
    await flush(dirname(to)).catch(() => undefined); // Windows cannot flush a folder.
  } catch (error) {
    throw backupFailed(error);
  } finally {
    await rm(partial, { force: true });
  }
}

function absolute(name: string, path: unknown): string {
  if (typeof path === 'string' && path !== '' && path !== ':memory:' && !path.includes('\0')) return resolve(path);
  throw new TransactionError('AMBIT_OPTION', `${name} must name a file`);
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

async function modeOf(path: string): Promise<number> {
  const found = await stat(path);
  if (!found.isFile()) throw new Error(`${path} is not a file`);
  return found.mode & 0o777;
}

async function create(path: string, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  await file.close();
}

/** On a thread of its own, which also checks the copy. */
async function copy(from: string, to: string): Promise<void> {
  const { location } = loadSqlite();
  const worker = new Worker(COPY, { eval: true, workerData: { location, from, to, timeout: BUSY_MS } });
  const [found] = (await once(worker, 'message')) as [unknown];
  if (found !== 'ok') throw new Error(`PRAGMA integrity_check of the copy found ${String(found)}`);
}

/** The program is a text, since a bundle has no file of its own for it. `--input-type=module` makes it a module, without `require`. */
const COPY = `
const load = process.getBuiltinModule('node:module').createRequire(process.cwd() + '/');
const { parentPort, workerData: { location, from, to, timeout } } = load('node:worker_threads');
const { DatabaseSync } = load(location);
const source = new DatabaseSync(from, { timeout });
source.prepare('VACUUM INTO ?').run(to);
source.close();
const copy = new DatabaseSync(to);
const found = copy.prepare('PRAGMA integrity_check').all().map(({ integrity_check: text }) => text).join(', ');
copy.close();
parentPort.postMessage(found);
`;

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Unlike a rename, a link fails where another process has created the file meanwhile. */
async function giveName(partial: string, to: string): Promise<void> {
  try {
    await link(partial, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw alreadyThere(to);
    if (code === undefined || !NO_LINKS.has(code)) throw error;
    await rename(partial, to);
  }
}

function alreadyThere(to: string): Error {
  return Object.assign(new Error(`${to} exists already`), { code: 'EEXIST' });
}

function backupFailed(thrown: unknown): TransactionError {
  const error = withName(thrown);
  const cause = codeOf(error).startsWith('SQLITE_') ? translated(error) : error;
  return new TransactionError('AMBIT_TX_FILE', 'No backup was written, and the database is unchanged', { cause });
}
