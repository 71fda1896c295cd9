import { channel } from 'node:diagnostics_channel';
import type { IContainer } from '@ambit/container';
import type { IDatabasePool } from '../contract.js';
import { aborted, TransactionError, withCallersStack } from '../errors.js';
import type { TransactionOptions } from '../options.js';
import { sessionOf } from '../pool/foreign-session.js';
import type { Session } from '../pool/session.js';
import { Acquisition } from './acquisition.js';
import { DeferredSession } from './deferred-session.js';
import { TransactionSettings } from './settings.js';
import { Transaction } from './transaction.js';
import { isOpen, openScope, transactionAround } from './transaction-of.js';

const nothing = (): void => undefined;

/**
 * A transaction that is about to begin, for a caller that may have to roll it back while it still waits for a connection.
 */
export class TransactionStart {
  /** Resolves when BEGIN has succeeded, or at once where it begins later. Rejects with nothing left behind. */
  readonly begun: Promise<Transaction>;
  readonly #parent: IContainer;
  readonly #settings: TransactionSettings;
  readonly #guardsParent: boolean;
  #acquisition: Acquisition | undefined = undefined;
  #resolve: (transaction: Transaction) => void = nothing;
  #reject: (error: unknown) => void = nothing;
  #acquired: Transaction | undefined = undefined;
  #transaction: Transaction | undefined = undefined;

  /**
   * Asks the pool for a connection at once, or with `begin: 'lazy'` at the first statement.
   *
   * @param parent - the scope to begin in, such as that of a request
   * @param options - the options of the transaction, or settings that were made once for many
   * @param how - `guardsParent`: all work of the scope belongs to this transaction, so that while it is open,
   *   `runInTransaction()` refuses the scope and those below, unless the propagation is `requires-new` or `not-supported`;
   *   `mayBeginLate`: with its first statement, where neither the options nor `afterBegin` of the pool stand against it
   * @throws `TransactionError` `AMBIT_OPTION`: an invalid option; every other failure rejects `begun`
   */
  constructor(
    parent: IContainer,
    options: TransactionOptions | TransactionSettings = {},
    how: { readonly guardsParent?: boolean; readonly mayBeginLate?: boolean } = {},
  ) {
    this.#guardsParent = how.guardsParent ?? false;
    this.#parent = parent;
    this.#settings = 'beginOptions' in options ? options : TransactionSettings.of(options);
    this.begun = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#begin(how.mayBeginLate);
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
      this.#acquisition?.cancel(reason);
      void this.#acquired?.rollback(aborted({ reason }));
    }
    const transaction = this.#transaction ?? (await this.begun.catch(() => undefined));
    await transaction?.rollback(reason);
  }

  #begin(mayBeginLate = false): void {
    const { begin, signal } = this.#settings;
    if (signal?.aborted) throw aborted(signal);
    refuseSecond(this.#parent, this.#settings);
    if (begin === 'lazy' || (mayBeginLate && begin === undefined && !this.#hasAfterBegin())) {
      const session = new DeferredSession(this.#parent, this.#settings);
      session.scope = this.#open(session);
      return;
    }
    const acquisition = new Acquisition(this.#parent, this.#settings, {
      receive: (connection, cancelled) => {
        const session = sessionOf(connection);
        try {
          this.#open(session, acquisition, cancelled);
        } catch (error) {
          // The parent was disposed while we waited for the connection, which nobody has used.
          acquisition.release(connection);
          this.#reject(error);
        }
      },
      fail: this.#reject,
    });
    this.#acquisition = acquisition;
    acquisition.ask();
  }

  #hasAfterBegin(): boolean {
    return this.#parent.resolve<IDatabasePool>(this.#settings.database.pool).afterBegin !== undefined;
  }

  #open(session: Session, acquisition?: Acquisition, cancelled?: { readonly reason: unknown }): IContainer {
    const scope = openScope(this.#parent, this.#settings.database.connection);
    acquisition?.publish(scope);
    const transaction = new Transaction(this.#parent, scope, session, this.#settings, this.#guardsParent);
    if (cancelled) void transaction.rollback(aborted(cancelled));
    this.#acquired = transaction;
    const onBegun = (): void => {
      this.#transaction = transaction;
      this.#resolve(transaction);
    };
    transaction.begin(acquisition?.pool.afterBegin).then(onBegun, this.#reject);
    return scope;
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
 */
export function inOwnContext<A extends unknown[], R>(work: (...args: A) => R, ...args: A): R {
  if (!transactionContext.hasSubscribers) return work(...args);
  return transactionContext.runStores<undefined, A, R>({}, work, undefined, ...args);
}
