import { channel } from 'node:diagnostics_channel';
import type { IContainer } from '@ambit/container';
import type { AfterBegin, IDatabasePool, IPooledConnection } from '../core/contract.js';
import { aborted, asCoded, TransactionError, withCallersStack } from '../core/errors.js';
import { since, transactionAcquired, transactionRefused } from '../core/events.js';
import { TransactionSettings, type TransactionOptions } from '../core/options.js';
import { acquireConnection, AcquireRequest, release } from '../pool/checkout.js';
import { transactionOnSame } from '../transaction/transaction-of.js';
import { Transaction } from '../transaction/transaction.js';

/**
 * A transaction that is about to begin, for a caller that may have to roll it back while it still waits for a connection.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type Transaction, TransactionStart } from '@ambit/transaction';
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
  /** `performance.now()` when the pool was asked, if anybody listens. */
  #askedAt = 0;
  #acquired: Transaction | undefined = undefined;
  #transaction: Transaction | undefined = undefined;

  /**
   * Asks the pool for a connection at once.
   *
   * @param parent - the scope to begin in, such as that of a request
   * @param options - the terms of the transaction, or settings that were made once for many
   * @param how - `guardsParent`: all work of the scope belongs to this transaction, so that while it is open,
   *   `runInTransaction()` refuses the scope and those below, unless the propagation is `requires-new` or `not-supported`
   * @throws `TransactionError` `AMBIT_TX_OPTION`: an invalid option; every other failure rejects `begun`
   */
  constructor(
    parent: IContainer,
    options: TransactionOptions | TransactionSettings = {},
    how: { readonly guardsParent?: boolean } = {},
  ) {
    this.#guardsParent = how.guardsParent ?? false;
    this.#parent = parent;
    this.#settings = options instanceof TransactionSettings ? options : TransactionSettings.of(options);
    this.#request = new AcquireRequest(this.#settings);
    this.begun = new Promise((resolve, reject) => this.#acquire(resolve, reject));
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

  #acquire(resolve: (transaction: Transaction) => void, reject: (error: unknown) => void): void {
    const settings = this.#settings;
    if (settings.signal?.aborted) throw aborted(settings.signal);
    refuseSecond(this.#parent, settings);
    if (transactionAcquired.hasSubscribers || transactionRefused.hasSubscribers) this.#askedAt = performance.now();
    const pool = this.#resolvePool();
    acquireConnection(pool, {
      settings,
      request: this.#request,
      onConnection: (connection) => this.#begin(connection, pool.afterBegin, resolve, reject),
      onFailure: (failure) => reject(this.#refused(failure)),
    });
  }

  /** A transient would be a pool for each transaction, which nobody closes. */
  #resolvePool(): IDatabasePool {
    const key = this.#settings.database.pool;
    const pool = this.#parent.resolve<IDatabasePool>(key);
    if (TransactionStart.#lasting.has(pool)) return pool;
    if (this.#parent.resolve<IDatabasePool>(key) !== pool) {
      throw new TransactionError('AMBIT_TX_TRANSIENT_POOL', `Each resolve of '${key}' makes another pool`);
    }
    TransactionStart.#lasting.add(pool);
    return pool;
  }

  #begin(
    connection: IPooledConnection,
    afterBegin: AfterBegin | undefined,
    resolve: (transaction: Transaction) => void,
    reject: (error: unknown) => void,
  ): void {
    const scope = this.#openScope(connection, reject);
    if (!scope) return;
    const transaction = new Transaction(this.#parent, scope, connection, this.#settings, this.#guardsParent);
    const { cancelled } = this.#request;
    if (cancelled) void transaction.rollback(aborted(cancelled));
    this.#acquired = transaction;
    const onBegun = (): void => {
      this.#transaction = transaction;
      resolve(transaction);
    };
    transaction.begin(onBegun, reject, afterBegin);
  }

  #openScope(connection: IPooledConnection, reject: (error: unknown) => void): IContainer | undefined {
    try {
      const scope = this.#parent.createScope({ tags: ['transaction'] });
      if (transactionAcquired.hasSubscribers) {
        transactionAcquired.publish({ parent: this.#parent, scope, milliseconds: since(this.#askedAt) });
      }
      return scope;
    } catch (error) {
      // The parent was disposed while we waited for the connection, which nobody has used.
      release(connection, undefined, this.#settings);
      reject(error);
      return undefined;
    }
  }

  #refused(failure: unknown): TransactionError {
    const error = asCoded(failure, 'AMBIT_TX_ACQUIRE_FAILED', 'No connection could be acquired');
    if (transactionRefused.hasSubscribers) {
      transactionRefused.publish({ parent: this.#parent, milliseconds: since(this.#askedAt), error });
    }
    return error;
  }
}

/** A second connection would commit what the transaction around it rolls back, and wait for locks that this holds. */
function refuseSecond(parent: IContainer, { database }: TransactionSettings): void {
  const state = transactionOnSame(parent, database)?.state;
  if (state !== 'acquired' && state !== 'open') return;
  throw new TransactionError('AMBIT_TX_ALREADY_OPEN', 'A transaction was to begin in the scope of an open one');
}

/**
 * Acquires a connection from the `IDatabasePool` of `parent`, opens a scope tagged `transaction` under it, registers
 * the connection there as `IConnection`, and begins. When it rejects, all of that is undone already. For another database,
 * the options `pool` and `connection` say other keys.
 *
 * @param parent - the scope to begin in, such as that of a request
 * @param options - the terms of the transaction
 * @returns the open transaction; its caller commits it or rolls it back
 * @throws `TransactionError` `AMBIT_TX_ALREADY_OPEN`: `parent` is in an open transaction on this database
 * @throws what `getConnection()` of the pool throws, such as `TransactionError` `AMBIT_TX_ACQUIRE_TIMEOUT`
 * @throws `TransactionError` `AMBIT_TX_BEGIN_FAILED`: the database refused BEGIN, or `afterBegin` of the pool failed
 * @throws `TransactionError` `AMBIT_TX_ABORTED` or `AMBIT_TX_TIMEOUT`: the signal aborted, or the time was up, before it began
 * @throws `TransactionError` `AMBIT_TX_OPTION`: an invalid option; `AMBIT_TX_TRANSIENT_POOL`: the pool is registered without `singleton()`
 * @throws `ContainerError` `AMBIT_NOT_REGISTERED`: no pool is registered under the key
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { beginTransaction } from '@ambit/transaction';
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
 * import { beginTransaction, inOwnContext } from '@ambit/transaction';
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
