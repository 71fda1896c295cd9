import { accessSync, closeSync, constants, openSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../clock.js';
import { TransactionError } from '../errors.js';
import { isBusy, sqlStateOf, translated } from './errors.js';

/** The text of the message for each cause; only the cause itself names the file. */
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
const WITHOUT_FILE =
  'is missing, and its -wal still has transactions of it. Put the file back, or remove the -wal file';
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
    // SQLite would begin an empty database, and delete the log of the one that is missing.
    if (!found && statSync(`${path}-wal`, { throwIfNoEntry: false })?.size) throw new Error(`${path} ${WITHOUT_FILE}`);
    // Never opens a file that exists: to close it would drop the locks that SQLite has on it in this process.
    if (found) accessSync(path, R_OK | W_OK);
    else closeSync(openSync(path, 'a', 0o644));
    // SQLite writes files beside it.
    accessSync(dirname(resolve(path)), R_OK | W_OK);
  } catch (error) {
    throw cannotUse(path, error, TEMPORARY.has((error as NodeJS.ErrnoException).code) ? MAY_PASS : '58030');
  }
}

/** The error of a driver that could not open the file. */
export function cannotOpen(path: string, error: unknown): TransactionError {
  return isBusy(error) ? translated(error) : cannotUse(path, error, sqlStateOf(error) ?? MAY_PASS);
}

const LOOK_EVERY_MS = 1000;

/**
 * SQLite goes on in a file that was deleted, moved or replaced, and reports that everything is stored. So the file that was opened is
 * compared with the one at its path, at most once a second while it is used.
 */
export class WatchedFile {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #opened: Stats;
  #lookedAt: number;

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
    this.#opened = statSync(path);
    this.#lookedAt = clock.now();
  }

  /** Throws until the file that was opened is at its path again. */
  check(): void {
    const now = this.#clock.now();
    if (now - this.#lookedAt < LOOK_EVERY_MS) return;
    const found = statSync(this.#path, { throwIfNoEntry: false });
    if (found?.ino !== this.#opened.ino || found.dev !== this.#opened.dev) throw this.#isAway(found);
    this.#lookedAt = now;
  }

  #isAway(found: Stats | undefined): TransactionError {
    const happened = found ? 'replaced by another file' : 'deleted or moved';
    const cause = new Error(
      `${this.#path} was ${happened} while it was in use. Move it back, or stop this program and restore a backup.`,
    );
    const what = 'SQLite cannot use the file: it is not where it was opened';
    return new TransactionError('AMBIT_TX_FILE', what, { cause, sqlState: '58030' });
  }
}

function cannotUse(path: string, error: unknown, sqlState: string): TransactionError {
  const { code = '', message } = error as { code?: string; message: string };
  const reason = REASONS[code] ?? 'it cannot be opened';
  const cause = new Error(message.includes(path) ? message : `${path}: ${message}`);
  return new TransactionError('AMBIT_TX_FILE', `SQLite cannot use the file: ${reason}`, { cause, sqlState });
}
