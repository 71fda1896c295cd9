import { inspect } from 'node:util';
import { failureReported } from './events.js';
import { codeOf, isOurs, isRetryable, isUnavailable, sqlStateOf } from './sql-state.js';

/** The meaning of a code for the response, for a retry, and for the reader of its message. */
interface CodeRow {
  /** The last sentence of the message: how to fix it. */
  readonly advice: string;
  /** The status of a response; 503 where the failure is temporary, and not the fault of the request. */
  readonly status: 400 | 500 | 503;
  /** The whole transaction may be retried, whatever the cause says. */
  readonly retry?: true;
  /** A retry could do the same work twice, or cannot succeed, whatever the cause says. */
  readonly final?: true;
  /**
   * The place of the fault: `server`, which takes nothing on this connection while another one may; `address`, where no server was
   * found; `time`, which was too short; `caller`, who would be refused by every server.
   */
  readonly fault?: Fault;
  /** The connection is not used again. */
  readonly last?: true;
}

type Fault = 'server' | 'address' | 'time' | 'caller';

const CODES = {
  AMBIT_OPTION: { advice: 'Correct the option.', status: 500, fault: 'caller' },
  AMBIT_TX_ABORTED: {
    advice: 'Nothing was stored. The caller that asked for the work has disconnected or cancelled it.',
    status: 503,
    final: true,
    fault: 'caller',
  },
  AMBIT_TX_ACQUIRE_FAILED: {
    advice: 'Check that the database runs and that the address and the credentials are right.',
    status: 503,
    fault: 'address',
  },
  AMBIT_TX_ACQUIRE_TIMEOUT: {
    advice:
      'If every connection is checked out, look for slow transactions and for code inside a transaction that uses the pool instead of its IConnection, or raise the pool size; otherwise check that the database responds.',
    status: 503,
    fault: 'time',
  },
  AMBIT_TX_ALREADY_OPEN: {
    advice:
      'Pass the scope of the transaction that is meant, of a request requireTransactionScope(): there runInTransaction() is a savepoint, which may fail alone. For a separate transaction, give it the propagation requires-new.',
    status: 500,
  },
  AMBIT_TX_BEGIN_FAILED: { advice: 'The transaction did not start, so nothing was stored.', status: 500 },
  AMBIT_TX_BUSY: {
    advice: 'Another process writes to the same database file; retry the whole transaction.',
    status: 503,
    retry: true,
  },
  AMBIT_TX_CALLBACK_FAILED: {
    advice: 'The outcome of the transaction stands; the cause says what failed.',
    status: 500,
  },
  AMBIT_TX_COMMIT_FAILED: { advice: 'The database refused COMMIT and stored nothing.', status: 500 },
  AMBIT_TX_CONNECTION_LOST: {
    advice:
      'The database rolls an open transaction back; a COMMIT that was sent, or a statement outside of a transaction, may have been carried out or not.',
    status: 503,
    fault: 'server',
  },
  AMBIT_TX_CONTROL_STATEMENT: {
    advice: 'Use commit() and rollback() instead of BEGIN, COMMIT and ROLLBACK statements; savepoints are allowed.',
    status: 500,
  },
  AMBIT_TX_DEAD_LETTER: {
    advice: 'Correct the receiver or the event, then call retry() of the outbox; the cause says why it failed last.',
    status: 500,
  },
  AMBIT_TX_DELIVERY: {
    advice: 'It is tried again later; make the receiver faster, or raise deliveryTimeoutMs.',
    status: 500,
  },
  AMBIT_TX_FAILED: {
    advice:
      'A transaction in which a statement or a required run failed can only roll back; wrap what may fail in a nested runInTransaction() with the scope of the transaction.',
    status: 500,
  },
  AMBIT_TX_FILE: {
    advice:
      'Check that the path names a SQLite database, or no file yet, in a folder that exists, and that this process may write both; the cause names the file.',
    status: 500,
  },
  AMBIT_TX_FINISHED: {
    advice:
      'Await every query before the transaction commits or rolls back or its connection is released, and do not keep a connection, or a repository of a disposed scope.',
    status: 500,
  },
  AMBIT_TX_NESTED: {
    advice:
      'Await a nested runInTransaction() before you use the connection outside of it, and pass options to the outermost run.',
    status: 500,
  },
  AMBIT_TX_OUTCOME_UNKNOWN: {
    advice: 'It may be stored or not: find out with an idempotency key or a marker row before you run it again.',
    status: 503,
    final: true,
    last: true,
  },
  AMBIT_TX_PARAMETER: {
    advice:
      'Parameters are $1, $2 and so on; a database takes text without NUL, numbers, bigints, booleans, dates, bytes and null.',
    status: 500,
  },
  AMBIT_TX_POOL_CLOSED: { advice: 'The application is shutting down.', status: 503, fault: 'caller' },
  AMBIT_TX_POOL_FULL: {
    advice:
      'Retry in a moment; if it persists, send fewer requests, add connections (max) or tenants (capacity), or raise maxWaiting.',
    status: 503,
  },
  AMBIT_TX_READ_ONLY: {
    advice:
      'Retry in a moment: during a failover the address may lead to a standby. If it persists, check the address and default_transaction_read_only; a pool that only reads sets targetSessionAttrs.',
    status: 503,
    fault: 'server',
    last: true,
  },
  AMBIT_TX_RELAY: {
    advice:
      'Events are kept, and the relay tries again; check that the database runs and that the table of the outbox was created (outboxSchema()).',
    status: 500,
  },
  AMBIT_TX_ROLLBACK_FAILED: {
    advice: 'The connection was closed instead, which makes the database roll back.',
    status: 500,
  },
  AMBIT_TX_SANDBOX: {
    advice:
      'Create a sandbox for each test, and send its id with every request until it is released; one that is idle for too long is rolled back.',
    status: 400,
  },
  AMBIT_TX_SCOPE_FAILED: {
    advice: 'The outcome of the transaction stands; the cause says what failed to dispose.',
    status: 500,
  },
  AMBIT_TX_STALE_STATEMENT: {
    advice:
      'A table was changed after the statement was prepared. Retry the whole transaction: the statement is then prepared again.',
    status: 503,
    retry: true,
  },
  AMBIT_TX_STATEMENT_FAILED: { advice: 'On the server, cause has the text of the database.', status: 500 },
  AMBIT_TX_TIMEOUT: {
    advice:
      'Do less inside the transaction. If every request times out, a statement on the pool waits for this transaction: transactionCheck() names its line.',
    status: 503,
    final: true,
    fault: 'time',
  },
  AMBIT_TX_UNSUPPORTED: {
    advice:
      'Use a pool that can do it, or add the method to your own; docs/guides/databases.md says what each pool can do.',
    status: 500,
  },
  AMBIT_TX_VERSION: {
    advice: 'Install the version that is named; npm ls shows those that are installed.',
    status: 500,
  },
  AMBIT_UNDISPOSED: {
    advice:
      "Add singleton() to the registration of the pool: .pipe(singleton()).to('IDatabasePool'). Otherwise each transaction opens a pool of its own, which nobody closes.",
    status: 500,
  },
} as const satisfies Record<string, CodeRow>;

/** The `code` of a `TransactionError`. It does not change between releases; docs/errors.md explains each. */
export type TransactionErrorCode = keyof typeof CODES;

/** Every code that a `TransactionError` can have, such as for a test that each has a response. */
export const TRANSACTION_ERROR_CODES = Object.keys(CODES) as readonly TransactionErrorCode[];

/** The row of an error of this package or of another copy of it; an empty row for any other error. */
export function meaningOf(error: unknown): Partial<CodeRow> {
  const code = codeOf(error);
  return Object.hasOwn(CODES, code) ? CODES[code as TransactionErrorCode] : NO_MEANING;
}

const NO_MEANING: Partial<CodeRow> = {};

/**
 * The one error class of this package. Hosts send its message to clients unless the application has an error handler, so
 * the message contains no text of the driver, no SQL, and no name of a table or a file. Those are in `cause`.
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
  /** Always `TransactionError`. */
  override readonly name = 'TransactionError';
  /** What went wrong. It does not change between releases; the message may. */
  readonly code: TransactionErrorCode;
  /** The SQLSTATE of the failure, the same on PostgreSQL and SQLite. */
  readonly sqlState: string | undefined;
  /** A retry of the whole transaction may succeed. */
  readonly retryable: boolean;
  /** The failure is temporary and not the fault of this request: 503 rather than 500. */
  readonly unavailable: boolean;
  /**
   * The status of the response when the application has no error handler: 503 when the client may retry, 400 when a test names
   * a sandbox that is not there, 500 otherwise.
   */
  readonly statusCode: 400 | 500 | 503;
  /** Equal to `statusCode`: error handlers for Express read this name first. */
  readonly status: 400 | 500 | 503;

  /**
   * @param code - what went wrong; it decides `retryable`, `unavailable` and the status, together with the SQLSTATE
   * @param detail - the first sentence of the message, without its full stop; clients may read it
   * @param options - the error behind it, and the SQLSTATE where that is not the one of the cause
   */
  constructor(code: TransactionErrorCode, detail: string, options: { cause?: unknown; sqlState?: string } = {}) {
    const { advice, status, retry, final }: CodeRow = CODES[code];
    super(
      `${detail}. ${advice} [npx ambit explain ${code}]`,
      'cause' in options ? { cause: options.cause } : undefined,
    );
    this.code = code;
    this.sqlState = options.sqlState ?? sqlStateOf(options.cause);
    // Where the SQLSTATE is that of the cause, the cause may know more than the SQLSTATE says.
    const known = { sqlState: options.sqlState, cause: options.cause };
    this.retryable = !final && (retry ?? isRetryable(known));
    this.unavailable = status === 503 || isUnavailable(known);
    this.status = this.statusCode = this.unavailable || this.retryable ? 503 : status;
  }

  /** For the response: `retry-after` where nothing was stored and a retry may succeed. Express, Fastify and NestJS send it. */
  get headers(): Readonly<Record<string, string>> {
    // A client that repeats a request which may be stored could store it twice.
    return this.status === 503 && this.code !== 'AMBIT_TX_OUTCOME_UNKNOWN' ? { 'retry-after': '1' } : {};
  }
}

/** A proxy may throw when it is inspected. */
export function isTransactionError(error: unknown): error is TransactionError {
  try {
    return error instanceof TransactionError;
  } catch {
    return false;
  }
}

/**
 * Gives an error of this package that was made in a callback of the driver or a timer the stack of the function that awaits it.
 *
 * @param error - what was thrown; errors of others stay as they are
 * @returns the same error
 */
export function withCallersStack(error: unknown): unknown {
  // An error of another copy of this package is one, too.
  if (isOurs(error)) Error.captureStackTrace(error as object, withCallersStack);
  return error;
}

/** The end of a sentence: the code of an error of ours, and nothing for any other error. */
export function because(error: unknown): string {
  return isTransactionError(error) ? ` because of ${error.code}` : '';
}

/**
 * The error for a statement that the database itself refused. The message reaches clients, so it has the SQLSTATE and not the text, which is in `cause`.
 *
 * @param cause - the error of the driver
 * @param sqlState - what PostgreSQL would give
 * @returns `AMBIT_TX_STATEMENT_FAILED`, for `translate()` of a `Language`
 */
export function refusedStatement(cause: unknown, sqlState: string | undefined): TransactionError {
  const missing =
    sqlState === '42P01' || sqlState === '42S02'
      ? '. A table does not exist: if onStart() creates the tables, await container.start() first'
      : '';
  const detail = `The database refused a statement${sqlState === undefined ? '' : ` (${sqlState})`}${missing}`;
  return new TransactionError('AMBIT_TX_STATEMENT_FAILED', detail, {
    cause,
    ...(sqlState === undefined ? {} : { sqlState }),
  });
}

/** The error for an object that lacks the method that begins a transaction. D1 is the one that is tried. */
export function notAPool(what: string, method: string, given: object): TransactionError {
  const isD1 = 'batch' in given && 'prepare' in given;
  const reason = isD1
    ? ': D1 has no transaction that waits for the application, because its batch() takes all statements at once. Use PostgreSQL by Hyperdrive, or the SQLite of a Durable Object'
    : '';
  return new TransactionError('AMBIT_TX_UNSUPPORTED', `${what} has no ${method}()${reason}`);
}

/** The error for a signal that has fired, or for another cancellation with a reason. */
export function aborted({ reason }: { readonly reason: unknown }): TransactionError {
  return new TransactionError('AMBIT_TX_ABORTED', 'The work was aborted', { cause: reason });
}

/** An error of ours unchanged, unless it only says that a statement failed; any other error becomes the cause of a new one. */
export function asCoded(
  error: unknown,
  code: 'AMBIT_TX_ACQUIRE_FAILED' | 'AMBIT_TX_BEGIN_FAILED',
  what: string,
): TransactionError {
  const ours = isTransactionError(error) && error.code !== 'AMBIT_TX_STATEMENT_FAILED';
  return ours ? error : new TransactionError(code, what, { cause: error });
}

/** The errors of connections, whichever database they lead to. */
export function released(options?: { sqlState: string }): TransactionError {
  return new TransactionError('AMBIT_TX_FINISHED', 'The connection was used after its release', options);
}

/** The server rolls an open transaction back, so this is a definite response to a COMMIT too. */
export function poolClosed(): TransactionError {
  return new TransactionError('AMBIT_TX_POOL_CLOSED', 'The pool was closed meanwhile', { sqlState: '08003' });
}

export function alreadyOpen(): TransactionError {
  const what = 'beginTransaction() was called on a connection with an open transaction';
  return new TransactionError('AMBIT_TX_ALREADY_OPEN', what);
}

/** Where the database rolled back because of a statement that failed, the SQLSTATE says that nothing was stored. */
export function nothingToCommit(undoneBy?: TransactionError): TransactionError {
  const what = 'COMMIT found no open transaction: a statement has already committed it or rolled it back';
  return new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what, undoneOptions(undoneBy, '40000'));
}

/** A statement in a transaction that the database has completed by itself. */
export function notInTransaction(undoneBy?: TransactionError): TransactionError {
  const what =
    'The statement was not sent, because an earlier one has already committed or rolled back the transaction';
  return new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what, undoneOptions(undoneBy, '25P01'));
}

function undoneOptions(cause: TransactionError | undefined, sqlState: string): { cause?: unknown; sqlState?: string } {
  return cause ? { cause, sqlState } : {};
}

/** `lostBecause` is what the server said when it closed the connection. The SQLSTATE of ours says that nothing was stored. */
export function lostBeforeCommit(lostBecause: unknown): TransactionError {
  return connectionLost(lostBecause, '08003', 'The connection to the database was lost before COMMIT was sent');
}

/** The command of its response is then ROLLBACK, and the response is no error. */
export function rolledBack(): TransactionError {
  const what = 'The database rolled back in response to COMMIT';
  return new TransactionError('AMBIT_TX_COMMIT_FAILED', what, { sqlState: '40000' });
}

/** The caller of the pool gets a connection without it. */
export function warnOfLeftOpen(): void {
  const code = 'AMBIT_TX_ALREADY_OPEN';
  const what = 'Another user of the driver left a transaction open in a connection, which was rolled back';
  const fix =
    'Find the code that uses the driver itself, and let it call COMMIT or ROLLBACK before it waits or returns';
  process.emitWarning(`${what}. ${fix}. [npx ambit explain ${code}]`, { type: 'TransactionWarning', code });
}

export function savepointAlone(): TransactionError {
  const what = 'A savepoint needs an open transaction';
  return new TransactionError('AMBIT_TX_STATEMENT_FAILED', what, { sqlState: '25P01' });
}

/**
 * A connection that broke. The message names the SQLSTATE that the server gave as its reason; its text is in the cause only.
 *
 * @param cause - why, as the driver says it
 * @param sqlState - where it is not the one of the cause: `08003` says that nothing was sent, and so nothing stored
 * @param what - the first sentence of the message, without its full stop
 * @returns `AMBIT_TX_CONNECTION_LOST`, for `translate()` of a `Language`
 */
export function connectionLost(
  cause: unknown,
  sqlState?: string,
  what = 'The connection to the database was lost',
): TransactionError {
  const reason = sqlStateOf(cause);
  return new TransactionError('AMBIT_TX_CONNECTION_LOST', reason === undefined ? what : `${what} (${reason})`, {
    ...(cause === undefined ? {} : { cause }),
    ...(sqlState === undefined ? {} : { sqlState }),
  });
}

/** A statement after that: it was not sent. */
export function lostBefore(lostBecause: unknown): TransactionError {
  return connectionLost(lostBecause, '08003');
}

interface Reporter {
  readonly onError?: ((error: TransactionError) => void) | undefined;
}

/**
 * Reports a failure that changes no outcome. Without a reporter, or where that fails, it is a process warning: a reporter that
 * fails must not change how a transaction completes.
 *
 * @param options - `onError` is called with the failure
 * @param error - the failure
 */
export function report({ onError = warn }: Reporter, error: TransactionError): void {
  failureReported.publish({ error });
  // The call is made at once; an async function turns a throw into a rejection.
  (async () => onError(error))().catch(() => warn(error));
}

export function warn(error: TransactionError): void {
  // Node prints the message and the detail of a warning, but not its cause, and only the cause says what went wrong.
  process.emitWarning(Object.assign(error, { detail: described(error.cause) }));
}

/** A cause may throw when it is inspected. */
function described(cause: unknown): string {
  try {
    return inspect(cause);
  } catch {
    return 'The cause cannot be read';
  }
}
