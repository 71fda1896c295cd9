import { channel } from 'node:diagnostics_channel';

/** `{ pool, milliseconds }`, after a pool gave a connection, to a transaction or for one statement. */
export const connectionAcquired = channel('ambit:connection:acquired');
/** `{ pool, milliseconds, error }`, after it gave none. */
const connectionRefused = channel('ambit:connection:refused');
/** `{ parent, milliseconds, error }`, after the pool gave no connection for a transaction. */
export const transactionRefused = channel('ambit:transaction:refused');
/** `{ parent, scope, milliseconds }`, after the pool gave one; `scope` is the transaction's, `parent` the scope around it. */
export const transactionAcquired = channel('ambit:transaction:acquired');
/** `{ scope, milliseconds }`, after BEGIN succeeded. */
export const transactionBegun = channel('ambit:transaction:begun');
/**
 * `{ statement }`, published within the call that sends a statement, so that the stack says where. Later messages name the
 * same object.
 */
export const statementSent = channel('ambit:statement:sent');
/** `{ scope, sql, milliseconds, statement?, error? }`, after a statement in a transaction succeeded or failed. Never its parameters. */
export const transactionStatement = channel('ambit:transaction:statement');
/** `{ sql, milliseconds, statement?, error? }`, after a statement outside of a transaction succeeded or failed. Never its parameters. */
export const statementOutside = channel('ambit:statement:outside');
/** `{ scope }`, before COMMIT or ROLLBACK is sent: those who wait for its locks may go on before its outcome is known. */
export const transactionFinishing = channel('ambit:transaction:finishing');
/** `{ scope, outcome, milliseconds, error? }`, after COMMIT or ROLLBACK; the outcome is `committed`, `rolled back` or `unknown`. */
export const transactionFinished = channel('ambit:transaction:finished');

/** `{ error }`, a failure that changes no outcome, such as that of a callback after COMMIT. */
export const failureReported = channel('ambit:transaction:reported');

/**
 * `{ scope, status }`, when the status of the response to a request is known; `scope` is the request's. Before COMMIT where the response
 * decides, and behind the rollback otherwise, maybe more than once.
 */
const transactionResponse = channel('ambit:transaction:response');

/**
 * Publishes the status of the response to a request, for authors of hosts: without subscribers it does nothing.
 *
 * @param scope - the scope of the request
 * @param status - of the response
 */
export function publishResponse(scope: object, status: number): void {
  if (transactionResponse.hasSubscribers) transactionResponse.publish({ scope, status });
}

/** `{ error }`, after a handler failed. */
const handlerFailed = channel('ambit:handler:failed');

/**
 * Publishes that the handler of a request has failed, for authors of hosts: without subscribers it does nothing.
 *
 * @param error - what it threw
 */
export function publishFailure(error: unknown): void {
  if (handlerFailed.hasSubscribers) handlerFailed.publish({ error });
}

/** Nothing is published here: a transaction check binds its store to it. */
export const uncheckedContext = channel('ambit:transaction:unchecked');

/**
 * Calls a function in which the transaction check finds nothing, because what it does there is meant so. Without a check it
 * only calls the function.
 *
 * @param work - what may do what the check would report
 * @returns what `work` returns
 * @throws what `work` throws
 *
 * @example
 * ```ts
 * import type { IDatabasePool } from '@ambit/transaction';
 * import { unchecked } from '@ambit/transaction/check';
 *
 * // The attempt is recorded whether the transaction around it commits or not.
 * async function recordAttempt(pool: IDatabasePool, user: string): Promise<void> {
 *   await unchecked(() => pool.query('INSERT INTO attempts (user_id) VALUES ($1)', [user]));
 * }
 * ```
 */
export function unchecked<T>(work: () => T): T {
  return uncheckedContext.hasSubscribers ? uncheckedContext.runStores({}, work) : work();
}

/** The milliseconds since a `performance.now()`; 0 where it was not read, because nobody had subscribed yet. */
export function since(start: number): number {
  return start === 0 ? 0 : performance.now() - start;
}

const NOTHING = {};

/** The object by which later messages name the statement; nothing where nobody subscribed. */
export function announceStatement(): { readonly statement?: object } {
  if (!statementSent.hasSubscribers) return NOTHING;
  const announced = { statement: {} };
  statementSent.publish(announced);
  return announced;
}

/** Runs a statement outside of a transaction, and publishes it; without a result it was not run. */
export async function publishedOutside<T>(
  sql: string,
  run: () => Promise<T>,
  announced = announceStatement(),
): Promise<T> {
  const start = performance.now();
  try {
    const result = await run();
    if (result !== undefined) statementOutside.publish({ ...announced, sql, milliseconds: since(start) });
    return result;
  } catch (error) {
    statementOutside.publish({ ...announced, sql, milliseconds: since(start), error });
    throw error;
  }
}

/** Publishes how a request for a connection ended. */
export async function publishedAcquiring<T>(pool: object, acquiring: Promise<T>): Promise<T> {
  const start = performance.now();
  try {
    const connection = await acquiring;
    connectionAcquired.publish({ pool, milliseconds: since(start) });
    return connection;
  } catch (error) {
    connectionRefused.publish({ pool, milliseconds: since(start), error });
    throw error;
  }
}

interface Completed {
  readonly scope: object;
  readonly state: string;
  readonly error: Error | undefined;
}

export function publishFinished({ scope, state: outcome, error }: Completed, sentAt: number): void {
  transactionFinished.publish({ scope, outcome, milliseconds: since(sentAt), ...(error ? { error } : {}) });
}
