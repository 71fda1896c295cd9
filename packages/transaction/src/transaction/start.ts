import { channel } from 'node:diagnostics_channel';
import type { IContainer } from '@ambit/container';
import { startTimer, TURN } from '../clock.js';
import type { AfterBegin, IDatabasePool, IPooledConnection } from '../contract.js';
import { aborted, asCoded, report, TransactionError, withCallersStack } from '../errors.js';
import { since, transactionAcquired, transactionRefused } from '../events.js';
import type { TransactionOptions } from '../options.js';
import { ForeignSession } from '../pool/foreign-session.js';
import { PooledConnection } from '../pool/pool.js';
import { AcquireRequest } from '../pool/waiting.js';
import { TransactionSettings } from './settings.js';
import { callSafely, Transaction } from './transaction.js';
import { isOpen, openScope, transactionAround } from './transaction-of.js';

const nothing = (): void => undefined;

/**
 * A transaction that is about to begin, for a caller that may have to roll it back while it still waits for a connection.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import type { Transaction } from '@ambit/transaction';
 * import { TransactionStart } from '@ambit/transaction/host';
 *
 * function beginWhileOpen(scope: IContainer, socket: { once(event: 'close', fn: () => void): void }): Promise<Transaction> {
 *   const start = new TransactionStart(scope);
 *   socket.once('close', () => void start.rollback());
 *   return start.begun;
 * }
 * ```
 */
export class TransactionStart {
  /** Resolves when BEGIN has succeeded. Rejects with nothing left behind. */
  readonly begun: Promise<Transaction>;
  /** Pools that are the same at each `resolve`. */
  static readonly #lasting = new WeakSet<IDatabasePool>();
  readonly #parent: IContainer;
  readonly #settings: TransactionSettings;
  readonly #guardsParent: boolean;
  readonly #request: AcquireRequest;
  #resolve: (transaction: Transaction) => void = nothing;
  #reject: (error: unknown) => void = nothing;
  /** `performance.now()` when the pool was asked, if anybody listens. */
  #askedAt = 0;
  /** The pool gave a connection, or nobody waits for it any more. */
  #isSettled = false;
  #stopTimer: (() => void) | undefined = undefined;
  #acquired: Transaction | undefined = undefined;
  #transaction: Transaction | undefined = undefined;

  /**
   * Asks the pool for a connection at once.
   *
   * @param parent - the scope to begin in, such as that of a request
   * @param options - the options of the transaction, or settings that were made once for many
   * @param how - `guardsParent`: all work of the scope belongs to this transaction, so that while it is open,
   *   `runInTransaction()` refuses the scope and those below, unless the propagation is `requires-new` or `not-supported`
   * @throws `TransactionError` `AMBIT_OPTION`: an invalid option; every other failure rejects `begun`
   */
  constructor(
    parent: IContainer,
    options: TransactionOptions | TransactionSettings = {},
    how: { readonly guardsParent?: boolean } = {},
  ) {
    this.#guardsParent = how.guardsParent ?? false;
    this.#parent = parent;
    this.#settings = 'beginOptions' in options ? options : TransactionSettings.of(options);
    const { beginOptions, acquireTimeoutMs, signal } = this.#settings;
    this.#request = new AcquireRequest(beginOptions, acquireTimeoutMs, signal);
    this.begun = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#acquire();
    });
  }

  /** Undefined until BEGIN has succeeded. */
  get transaction(): Transaction | undefined {
    return this.#transaction;
  }

  /**
   * Stops the wait for a connection, or rolls the transaction back. Resolves when nothing is left of it. Never rejects, and undoes
   * no commit that was already sent.
   *
   * @param reason - why, for the error that `begun` or `commit()` of the transaction rejects with
   */
  async rollback(reason?: unknown): Promise<void> {
    if (!this.#transaction) {
      this.#request.cancel(reason);
      void this.#acquired?.rollback(aborted({ reason }));
    }
    const transaction = this.#transaction ?? (await this.begun.catch(() => undefined));
    await transaction?.rollback(reason);
  }

  /**
   * The pool receives the time limit and the signal, and has `cancelAfterMs` longer to keep them by itself. After that nobody
   * waits any more; a connection that the pool gives later is released at once.
   */
  #acquire(): void {
    const { signal } = this.#settings;
    if (signal?.aborted) throw aborted(signal);
    refuseSecond(this.#parent, this.#settings);
    if (transactionAcquired.hasSubscribers || transactionRefused.hasSubscribers) this.#askedAt = performance.now();
    const pool = this.#resolvePool();
    const fail = (failure: unknown): void => this.#fail(failure);
    try {
      const asking = Promise.resolve(pool.getConnection(this.#request));
      asking.then((connection) => this.#receive(connection, pool.afterBegin), fail);
    } catch (error) {
      return fail(error);
    }
    // A pool with a free connection has responded by then, and needs no timer.
    void TURN.then(() => {
      if (!this.#isSettled) this.#limitWait();
    });
  }

  #limitWait(): void {
    const { clock, acquireTimeoutMs, timeoutMs, cancelAfterMs } = this.#settings;
    const limitMs = acquireTimeoutMs ?? timeoutMs;
    const timeOut = (): void => {
      const what = `The pool gave no connection within ${Math.round(limitMs)} ms`;
      const error = new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', what);
      this.#fail(error);
      this.#request.cancel(error);
    };
    this.#stopTimer = startTimer(clock, timeOut, limitMs + cancelAfterMs);
    this.#request.onCancelled((why) => {
      this.#stopTimer?.();
      this.#stopTimer = startTimer(clock, () => this.#fail(aborted(why)), cancelAfterMs);
    });
  }

  #stopWaiting(): ReturnType<AcquireRequest['close']> {
    this.#isSettled = true;
    this.#stopTimer?.();
    return this.#request.close();
  }

  #fail(failure: unknown): void {
    if (this.#isSettled) return;
    this.#stopWaiting();
    const error = asCoded(failure, 'AMBIT_TX_ACQUIRE_FAILED', 'No connection could be acquired');
    if (transactionRefused.hasSubscribers) {
      transactionRefused.publish({ parent: this.#parent, milliseconds: since(this.#askedAt), error });
    }
    this.#reject(error);
  }

  /** Refuses a pool registered without singleton(): every transaction would open a pool, which nobody closes. */
  #resolvePool(): IDatabasePool {
    const key = this.#settings.database.pool;
    const pool = this.#parent.resolve<IDatabasePool>(key);
    if (TransactionStart.#lasting.has(pool)) return pool;
    if (this.#parent.resolve<IDatabasePool>(key) !== pool) {
      throw new TransactionError('AMBIT_UNDISPOSED', `Each resolve of '${key}' makes another pool`);
    }
    TransactionStart.#lasting.add(pool);
    return pool;
  }

  #receive(connection: IPooledConnection, afterBegin: AfterBegin | undefined): void {
    if (this.#isSettled) return this.#release(connection);
    if (!connection || typeof connection !== 'object')
      return this.#fail(new TypeError(`getConnection() gave ${String(connection)}`));
    const cancelled = this.#stopWaiting();
    const session = PooledConnection.sessionOf(connection) ?? new ForeignSession(connection);
    let scope: IContainer;
    try {
      scope = openScope(this.#parent, this.#settings.database.connection);
      if (transactionAcquired.hasSubscribers) {
        transactionAcquired.publish({ parent: this.#parent, scope, milliseconds: since(this.#askedAt) });
      }
    } catch (error) {
      // The parent was disposed while we waited for the connection, which nobody has used.
      this.#release(connection);
      return this.#reject(error);
    }
    const transaction = new Transaction(this.#parent, scope, session, this.#settings, this.#guardsParent);
    if (cancelled) void transaction.rollback(aborted(cancelled));
    this.#acquired = transaction;
    const onBegun = (): void => {
      this.#transaction = transaction;
      this.#resolve(transaction);
    };
    transaction.begin(afterBegin).then(onBegun, this.#reject);
  }

  #release(connection: IPooledConnection): void {
    const fail = (cause: unknown): void => {
      const what = 'release() of the connection failed';
      report(this.#settings, new TransactionError('AMBIT_TX_SCOPE_FAILED', what, { cause }));
    };
    callSafely(() => connection.release(), fail);
  }
}

/** A second connection would commit what the transaction around it rolls back, and wait for locks that this holds. */
function refuseSecond(parent: IContainer, { database }: TransactionSettings): void {
  if (!isOpen(transactionAround(parent, database.connection, database.pool))) return;
  throw new TransactionError('AMBIT_TX_ALREADY_OPEN', 'A transaction was to begin in the scope of an open one');
}

/**
 * Acquires a connection from the `IDatabasePool` of `parent`, opens a scope tagged `transaction` under it, registers
 * the connection there as `IConnection`, and begins. When it rejects, all of that is undone already. For another database,
 * the options `pool` and `connection` say other keys.
 *
 * @param parent - the scope to begin in, such as that of a request
 * @param options - the options of the transaction
 * @returns the open transaction; its caller commits it or rolls it back
 * @throws `TransactionError` `AMBIT_TX_ALREADY_OPEN`: `parent` is in an open transaction on this database
 * @throws what `getConnection()` of the pool throws, such as `TransactionError` `AMBIT_TX_ACQUIRE_TIMEOUT`
 * @throws `TransactionError` `AMBIT_TX_BEGIN_FAILED`: the database refused BEGIN, or `afterBegin` of the pool failed
 * @throws `TransactionError` `AMBIT_TX_ABORTED` or `AMBIT_TX_TIMEOUT`: the signal aborted, or the time was up, before it began
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option; `AMBIT_UNDISPOSED`: the pool is registered without `singleton()`
 * @throws `ContainerError` `AMBIT_NOT_REGISTERED`: no pool is registered under the key
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { beginTransaction } from '@ambit/transaction/host';
 *
 * async function count(requestScope: IContainer): Promise<void> {
 *   const transaction = await beginTransaction(requestScope, { isolation: 'repeatable read', readOnly: true });
 *   await transaction.commit();
 * }
 * ```
 */
export async function beginTransaction(parent: IContainer, options: TransactionOptions = {}): Promise<Transaction> {
  const start = new TransactionStart(parent, options);
  try {
    return await start.begun;
  } catch (error) {
    throw withCallersStack(error);
  }
}

/** Nothing is published here. A tool binds an AsyncLocalStorage to it, which then has a value of its own for each transaction. */
const transactionContext = channel('ambit:transaction:context');

/**
 * Calls a function that begins a transaction and goes on in it, so that what the transaction check attaches to its
 * asynchronous context does not reach the caller. For authors of hosts; without a check it only calls the function.
 *
 * @param work - begins the transaction, and goes on in it
 * @param args - what it is called with
 * @returns what `work` returns
 * @throws what `work` throws
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { beginTransaction, inOwnContext } from '@ambit/transaction/host';
 *
 * async function transaction(requestScope: IContainer, next: () => Promise<void>): Promise<void> {
 *   const begun = await beginTransaction(requestScope);
 *   await next();
 *   await begun.commit();
 * }
 * const middleware = (requestScope: IContainer, next: () => Promise<void>): Promise<void> =>
 *   inOwnContext(transaction, requestScope, next);
 * ```
 */
export function inOwnContext<A extends unknown[], R>(work: (...args: A) => R, ...args: A): R {
  if (!transactionContext.hasSubscribers) return work(...args);
  return transactionContext.runStores<undefined, A, R>({}, work, undefined, ...args);
}
