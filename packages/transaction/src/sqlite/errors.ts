import { type Clock, startTimer } from '../clock.js';
import { isTransactionError, refusedStatement, TransactionError } from '../errors.js';
import { codeOf } from '../sql-state.js';

/** SQLite's codes as the SQLSTATE that PostgreSQL would give, so that a caller maps errors once. First match wins. */
const SQLSTATES: readonly (readonly [prefix: string, sqlState: string])[] = [
  ['SQLITE_CONSTRAINT_UNIQUE', '23505'],
  ['SQLITE_CONSTRAINT_PRIMARYKEY', '23505'],
  ['SQLITE_CONSTRAINT_ROWID', '23505'],
  ['SQLITE_CONSTRAINT_FOREIGNKEY', '23503'],
  ['SQLITE_CONSTRAINT_NOTNULL', '23502'],
  ['SQLITE_CONSTRAINT_CHECK', '23514'],
  ['SQLITE_CONSTRAINT', '23000'],
  ['SQLITE_MISMATCH', '42804'],
  ['SQLITE_TOOBIG', '54000'],
  ['SQLITE_FULL', '53100'],
  ['SQLITE_NOMEM', '53200'],
  ['SQLITE_IOERR', '58030'],
  ['SQLITE_CANTOPEN', '58030'],
  ['SQLITE_CORRUPT', 'XX001'],
  ['SQLITE_NOTADB', 'XX001'],
  ['SQLITE_READONLY', '25006'],
  ['SQLITE_INTERRUPT', '57014'],
  ['SQLITE_AUTH', '42501'],
];

/** Another connection, of this process or another, is in the way for the moment. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(?:BUSY|LOCKED)/.test(codeOf(error));
}

export function isReadOnlyRefusal(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_READONLY');
}

/** Undefined for what SQLite has no name for. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error);
  return SQLSTATES.find(([prefix]) => code.startsWith(prefix))?.[1];
}

/** The error of the driver becomes the cause of one of ours, with a code and an SQLSTATE. */
export function translated(error: unknown): TransactionError {
  if (isTransactionError(error)) return error;
  if (isBusy(error)) {
    return new TransactionError('AMBIT_TX_BUSY', 'SQLite timed out waiting for the database file', {
      cause: error,
      sqlState: '55P03',
    });
  }
  const isTableMissing = error instanceof Error && error.message.includes('no such table');
  const sqlState = isTableMissing ? '42P01' : (sqlStateOf(error) ?? '42000');
  return refusedStatement(error, sqlState);
}

const LONGEST_PAUSE_MS = 20;

export interface RetryOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Called before every further attempt. */
  readonly isWanted?: () => boolean;
}

/**
 * After an attempt that failed with `busy`: tries again as soon as no other process is in the way, with pauses between the
 * attempts, because SQLite's own waiting blocks the event loop. Every other error is translated.
 */
export async function retryIfBusy<T>(attempt: () => T, busy: unknown, options: RetryOptions): Promise<T> {
  const { clock, timeoutMs, isWanted = () => true } = options;
  if (!isBusy(busy) || timeoutMs === 0) throw translated(busy);
  const deadline = clock.now() + timeoutMs;
  let last = busy;
  for (let tries = 1; ; tries += 1) {
    const pause = (0.5 + clock.random() / 2) * Math.min(tries, LONGEST_PAUSE_MS);
    await new Promise<void>((resolve) => void startTimer(clock, resolve, pause));
    if (!isWanted()) throw translated(last);
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || clock.now() >= deadline) throw translated(error);
      last = error;
    }
  }
}
