import { channel } from 'node:diagnostics_channel';
import type { IDatabasePool } from './contract.js';

/** `{ pool, connection, milliseconds, by }`, after a pool gave one; `by` are the options, which {@link transactionAcquired} names, too. */
export const connectionAcquired = channel('ambit:connection:acquired');
/** `{ pool, milliseconds, error }`, after it gave none. */
const connectionRefused = channel('ambit:connection:refused');
/** `{ connection }`, after it was released. */
export const connectionReleased = channel('ambit:connection:released');
/** `{ parent, milliseconds, error }`, after the pool gave no connection for a transaction. */
export const transactionRefused = channel('ambit:transaction:refused');
/** `{ parent, scope, milliseconds, by }`, after the pool gave one; `scope` is the transaction's, `parent` the scope around it. */
export const transactionAcquired = channel('ambit:transaction:acquired');
/** `{ scope, milliseconds }`, after BEGIN succeeded. */
export const transactionBegun = channel('ambit:transaction:begun');
/**
 * `{ statement, sql }`, published within the call that sends a statement, so that the stack says where. Later messages name the
 * same object.
 */
export const statementSent = channel('ambit:statement:sent');
/** `{ scope, sql, milliseconds, rows?, statement?, error? }`, after a statement in a transaction succeeded or failed. Never its parameters. */
export const transactionStatement = channel('ambit:transaction:statement');
/** `{ sql, milliseconds, rows?, statement?, error? }`, after a statement outside of a transaction succeeded or failed. Never its parameters. */
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

/** A request that comes over no socket of Node, or whose route its host knows better. */
export interface ServedRequest {
  /** The HTTP method. */
  readonly method: string;
  /** The path, or the whole address. */
  readonly url: string;
  /** The path as declared, such as `/orders/:id`, where that is known. */
  readonly route?: string | undefined;
}

/** Nothing is published here: a transaction check binds its store to it. */
export const requestContext = channel('ambit:request:context');

/**
 * Calls the rest of an application for a request, so that the transaction check knows its route, for authors of hosts: without a check it
 * only calls the function.
 *
 * @param describe - called where there is a check
 * @param work - handles the request
 * @returns what `work` returns
 * @throws what `work` throws
 */
export function inRequestContext<T>(describe: () => ServedRequest, work: () => T): T {
  return requestContext.hasSubscribers ? requestContext.runStores(describe(), work) : work();
}

/** Work that may be none of a request's: of a scope, or with a name and the function that does it. */
export interface ObservedWork {
  /** The scope in which it begins a transaction. */
  readonly scope?: object;
  /** The name of work that belongs to no scope, such as `delivery of order.placed`. */
  readonly name?: string;
  /** The function that does it. */
  readonly by?: object;
}

/** Nothing is published here: an inspector binds its store to it. */
const workContext = channel('ambit:work:context');
/** `{ work, error? }`, when observed work has settled. */
const workSettled = channel('ambit:work:settled');

/**
 * Calls a function so that an inspector knows the work when it runs outside of requests; without one it only calls the function.
 *
 * @param describe - called where there is an inspector
 * @param run - does the work
 * @returns what `run` returns
 */
export function inWorkContext<T>(describe: () => ObservedWork, run: () => Promise<T>): Promise<T> {
  if (!workContext.hasSubscribers) return run();
  const work = describe();
  return workContext.runStores(work, () => settling(run(), work));
}

/** V8 follows a promise only to a single one that awaits it: one more `then()` would take the application's line out of stacks. */
async function settling<T>(running: Promise<T>, work: ObservedWork): Promise<T> {
  let failure: { error: unknown } | undefined;
  try {
    return await running;
  } catch (error) {
    failure = { error };
    throw error;
  } finally {
    workSettled.publish({ work, ...failure });
  }
}

/** A pool with a transaction check around it has this: the check then goes around the sandbox, so that it knows the transactions within. */
export const CHECKED = Symbol.for('ambit.transaction.checked');
export interface AroundCheck {
  readonly below: IDatabasePool;
  again<P extends IDatabasePool>(pool: P): P;
}

/** The milliseconds since a `performance.now()`; 0 where it was not read, because nobody had subscribed yet. */
export function since(start: number): number {
  return start === 0 ? 0 : performance.now() - start;
}

const NOTHING = {};

/** The object by which later messages name the statement; nothing where nobody subscribed. */
export function announceStatement(sql: string): { readonly statement?: object } {
  if (!statementSent.hasSubscribers) return NOTHING;
  const announced = { statement: {} };
  statementSent.publish({ ...announced, sql });
  return announced;
}

/** The number of rows that a statement gave, alone or in a result. */
export function rowsIn(result: unknown): number | undefined {
  const { rows = result } = Object(result) as { readonly rows?: unknown };
  return Array.isArray(rows) ? rows.length : undefined;
}

/** Runs a statement outside of a transaction, and publishes it; without a result it was not run. */
export function publishedOutside<T>(
  sql: string,
  run: () => T | Promise<T>,
  announced = announceStatement(sql),
): T | Promise<T> {
  const start = performance.now();
  const publish = (facts: object): void =>
    statementOutside.publish({ ...announced, sql, milliseconds: since(start), ...facts });
  const succeeded = (result: T): T => {
    if (result !== undefined) publish({ rows: rowsIn(result) });
    return result;
  };
  const failed = (error: unknown): never => {
    publish({ error });
    throw error;
  };
  try {
    const running = run();
    return running instanceof Promise ? running.then(succeeded, failed) : succeeded(running);
  } catch (error) {
    return failed(error);
  }
}

/** Publishes how a request for a connection ended. */
export async function publishedAcquiring<T>(pool: object, acquiring: Promise<T>, by: object): Promise<T> {
  const start = performance.now();
  try {
    const connection = await acquiring;
    connectionAcquired.publish({ pool, connection, milliseconds: since(start), by });
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
