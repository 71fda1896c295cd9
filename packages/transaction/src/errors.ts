import { sqlStateOf, isRetryable, isUnavailable } from './faults.js';

/** Every code, with the advice that its message ends with. */
const ADVICE = {
  AMBIT_TX_ABORTED: 'Nothing was stored. Whoever asked for the work is gone, so there is nobody to answer.',
  AMBIT_TX_ACQUIRE_FAILED: 'Check that the database runs and that the address and the credentials are right.',
  AMBIT_TX_ACQUIRE_TIMEOUT:
    'Where every connection is on loan, look for slow transactions or a nested getConnection(), or raise the pool size; otherwise check that the database answers.',
  AMBIT_TX_ALREADY_OPEN:
    'A transaction scope has one transaction. For a part that may fail alone, call runInTransaction() in it, which is a savepoint; for a transaction of its own, begin in a scope outside of this one.',
  AMBIT_TX_BACKUP_FAILED: 'No backup was written, and the database is unchanged; the cause says why.',
  AMBIT_TX_BEGIN_FAILED: 'The transaction did not start, so nothing was stored.',
  AMBIT_TX_BUSY: 'Another process writes to the same database file; try the whole transaction again.',
  AMBIT_TX_COMMIT_FAILED: 'The database refused COMMIT and stored nothing.',
  AMBIT_TX_CONNECTION_LOST:
    'The database rolls an open transaction back; a COMMIT that was sent, or a statement outside of a transaction, may have been carried out or not.',
  AMBIT_TX_CONTROL_STATEMENT: 'Let the transaction scope begin and end transactions; savepoints are allowed.',
  AMBIT_TX_ENDED:
    'Do the work before the transaction ends, and await every query; a repository kept from an ended scope is useless.',
  AMBIT_TX_FAILED:
    'A transaction in which a statement failed can only roll back; wrap a statement that may fail in a nested runInTransaction().',
  AMBIT_TX_FILE:
    'Check that the path names a SQLite database, or no file yet, in a folder that exists, and that this process may write both; the cause names the file.',
  AMBIT_TX_NESTED:
    'Await a nested runInTransaction() before doing anything beside it, and give options to the outermost.',
  AMBIT_TX_OPTION: 'Correct the option.',
  AMBIT_TX_OUTCOME_UNKNOWN:
    'It may be stored or not: find out with an idempotency key or a marker row, and do not simply run it again.',
  AMBIT_TX_PARAMETER: 'Both databases take text without NUL, numbers, bigints, booleans, dates, bytes and null.',
  AMBIT_TX_POOL_CLOSED: 'The application is shutting down.',
  AMBIT_TX_POOL_FULL: 'Try again in a moment; if it lasts, send less, add connections (max), or raise maxWaiting.',
  AMBIT_TX_READ_ONLY:
    'Try again in a moment: during a failover the address may lead to a standby. If it lasts, check the address and default_transaction_read_only; a pool that only reads sets targetSessionAttrs.',
  AMBIT_TX_RELEASED: 'A connection is given back once, and not used after that.',
  AMBIT_TX_ROLLBACK_FAILED: 'The connection was closed instead, which makes the database roll back.',
  AMBIT_TX_SCOPE_FAILED: 'The outcome of the transaction stands; look at what ended with its scope.',
  AMBIT_TX_STALE_STATEMENT:
    'A table was changed after the statement was prepared. Run the whole transaction again: it is prepared again.',
  AMBIT_TX_STATEMENT_FAILED: 'The cause is what the database said.',
  AMBIT_TX_TIMEOUT: 'Do less inside the transaction, or raise timeoutMs.',
} as const;

export type TransactionErrorCode = keyof typeof ADVICE;

export const TRANSACTION_ERROR_CODES = Object.keys(ADVICE) as readonly TransactionErrorCode[];

/** These say "not now": a host answers 503 and the client may come back. */
const UNAVAILABLE: ReadonlySet<TransactionErrorCode> = new Set<TransactionErrorCode>([
  'AMBIT_TX_ABORTED',
  'AMBIT_TX_ACQUIRE_FAILED',
  'AMBIT_TX_ACQUIRE_TIMEOUT',
  'AMBIT_TX_BUSY',
  'AMBIT_TX_CONNECTION_LOST',
  'AMBIT_TX_OUTCOME_UNKNOWN',
  'AMBIT_TX_POOL_CLOSED',
  'AMBIT_TX_POOL_FULL',
  'AMBIT_TX_READ_ONLY',
  'AMBIT_TX_STALE_STATEMENT',
  'AMBIT_TX_TIMEOUT',
]);

/** After these the whole transaction may be run again, whatever their cause says. */
const RETRYABLE: ReadonlySet<TransactionErrorCode> = new Set<TransactionErrorCode>([
  'AMBIT_TX_BUSY',
  'AMBIT_TX_STALE_STATEMENT',
]);

/** After these the same work may be done twice, or cannot succeed, whatever their cause says. */
const FINAL: ReadonlySet<TransactionErrorCode> = new Set<TransactionErrorCode>([
  'AMBIT_TX_ABORTED',
  'AMBIT_TX_OUTCOME_UNKNOWN',
  'AMBIT_TX_TIMEOUT',
]);

/**
 * The one error of this package. Hosts send its message to clients unless the application has an error handler, so the
 * message is ours to the last word: no text of the driver, no SQL, no name of a table or a file. Those are in `cause`.
 *
 * @example
 * ```ts
 * import { TransactionError } from '@ambit/transaction';
 *
 * function isDuplicate(error: unknown): boolean {
 *   return error instanceof TransactionError && error.sqlState === '23505';
 * }
 * ```
 */
export class TransactionError extends Error {
  override readonly name = 'TransactionError';
  readonly code: TransactionErrorCode;
  /** What the database said, as an SQLSTATE, whichever database it is. */
  readonly sqlState: string | undefined;
  /** The whole transaction may be run again, and may then succeed. */
  readonly retryable: boolean;
  /** A matter of now, not of this request: 503 rather than 500. */
  readonly unavailable: boolean;
  /** What a host answers when the application has no error handler: 503 when the client may come back, 500 otherwise. */
  readonly statusCode: 500 | 503;
  /** The same, where error handlers for Express look first. */
  readonly status: 500 | 503;

  constructor(code: TransactionErrorCode, detail: string, options: { cause?: unknown; sqlState?: string } = {}) {
    super(`${detail}. ${ADVICE[code]} [${code}]`, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.sqlState = options.sqlState ?? sqlStateOf(options.cause);
    const known = { sqlState: this.sqlState, cause: options.cause };
    this.retryable = !FINAL.has(code) && (RETRYABLE.has(code) || isRetryable(known));
    this.unavailable = UNAVAILABLE.has(code) || isUnavailable(known);
    this.status = this.statusCode = this.unavailable || this.retryable ? 503 : 500;
  }
}

/** Also of a proxy that throws when it is looked at. */
export function isTransactionError(error: unknown): error is TransactionError {
  try {
    return error instanceof TransactionError;
  } catch {
    return false;
  }
}

/** For the end of a sentence: the code of an error of ours, and nothing of any other. */
export function because(error: unknown): string {
  return isTransactionError(error) ? ` because of ${error.code}` : '';
}

/** The coded error for a signal that has fired, or for what else gives its reason. */
export function aborted({ reason }: { readonly reason: unknown }): TransactionError {
  return new TransactionError('AMBIT_TX_ABORTED', 'The work was aborted', { cause: reason });
}

/** An error of ours as it is, unless it is only that a statement failed; any other as the cause of one. */
export function asCoded(
  error: unknown,
  code: 'AMBIT_TX_ACQUIRE_FAILED' | 'AMBIT_TX_BEGIN_FAILED',
  what: string,
): TransactionError {
  const ours = isTransactionError(error) && error.code !== 'AMBIT_TX_STATEMENT_FAILED';
  return ours ? error : new TransactionError(code, what, { cause: error });
}
