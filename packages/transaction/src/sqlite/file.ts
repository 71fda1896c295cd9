import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { TransactionError } from '../core/errors.js';
import { isBusy, sqlStateOf, translated } from './errors.js';

/** What the message says of the cause; only the cause names the file. */
const REASONS: Readonly<Record<string, string>> = {
  EISDIR: 'it is a directory',
  EMFILE: 'too many files are open',
  ENOENT: 'its folder does not exist, or takes no files',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'its folder is not a directory',
  EACCES: 'this process may not write it, or the folder it is in',
  EPERM: 'this process may not write it, or the folder it is in',
  EROFS: 'the file system is read-only',
  SQLITE_NOTADB: 'it is not a SQLite database',
  SQLITE_CORRUPT: 'it is damaged',
  SQLITE_FULL: 'the disk is full',
};
/** Insufficient resources, and what SQLite does not explain: it may pass. */
const MAY_PASS = '53000';
const TEMPORARY: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOSPC', 'ENOMEM']);

/** SQLite says of a file only that it cannot be opened, and of one that cannot be written it says so at the first write. */
export function checkFile(path: string): void {
  if (path === ':memory:') return;
  const { R_OK, W_OK } = constants;
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) throw Object.assign(new Error(`EISDIR: ${path} is a directory`), { code: 'EISDIR' });
    // Never opens a file that exists: to close it would drop the locks that SQLite has on it in this process.
    if (found) accessSync(path, R_OK | W_OK);
    else closeSync(openSync(path, 'a', 0o644));
    // SQLite writes files beside it.
    accessSync(dirname(resolve(path)), R_OK | W_OK);
  } catch (error) {
    throw cannotUse(path, error, TEMPORARY.has((error as NodeJS.ErrnoException).code) ? MAY_PASS : '58030');
  }
}

/** Of what libsql threw while it opened the file. */
export function cannotOpen(path: string, error: unknown): TransactionError {
  return isBusy(error) ? translated(error) : cannotUse(path, error, sqlStateOf(error) ?? MAY_PASS);
}

export function cannotUse(path: string, error: unknown, sqlState: string): TransactionError {
  const { code = '', message } = error as { code?: string; message: string };
  const reason = REASONS[code] ?? 'it cannot be opened';
  const cause = new Error(message.includes(path) ? message : `${path}: ${message}`);
  return new TransactionError('AMBIT_TX_FILE', `SQLite cannot use the file: ${reason}`, { cause, sqlState });
}
