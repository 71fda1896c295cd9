import type { IContainer } from '@ambit/container';
import { startTimer, TURN } from '../clock.js';
import type { IDatabasePool, IPooledConnection } from '../contract.js';
import { aborted, asCoded, notAPool, report, TransactionError } from '../errors.js';
import { since, transactionAcquired, transactionRefused } from '../events.js';
import { AcquireRequest } from '../pool/waiting.js';
import type { TransactionSettings } from './settings.js';
import { callSafely } from './transaction.js';

/** Receives what an {@link Acquisition} comes to. */
interface Acquirer {
  /** Called with the connection, and with why it is not wanted any more where that came in between. */
  readonly receive: (connection: IPooledConnection, cancelled: { readonly reason: unknown } | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Asks a pool for a connection, which receives the time limit and the signal, and has `cancelAfterMs` longer to keep them by itself. After
 * that nobody waits any more; a connection that the pool gives later is released at once.
 */
export class Acquisition {
  /** Pools that are the same at each `resolve`. */
  static readonly #lasting = new WeakSet<IDatabasePool>();
  readonly pool: IDatabasePool;
  readonly #parent: IContainer;
  readonly #settings: TransactionSettings;
  readonly #acquirer: Acquirer;
  readonly #request: AcquireRequest;
  /** `performance.now()` when the pool was asked, if anybody listens. */
  #askedAt = 0;
  /** The pool gave a connection, or nobody waits for it any more. */
  #isSettled = false;
  #stopTimer: (() => void) | undefined = undefined;

  /** Asks for no connection yet: see {@link ask}. */
  constructor(parent: IContainer, settings: TransactionSettings, acquirer: Acquirer) {
    const { beginOptions, acquireTimeoutMs, signal } = settings;
    this.#parent = parent;
    this.#settings = settings;
    this.#acquirer = acquirer;
    this.#request = new AcquireRequest(beginOptions, acquireTimeoutMs, signal);
    this.pool = this.#resolvePool();
  }

  ask(): void {
    if (transactionAcquired.hasSubscribers || transactionRefused.hasSubscribers) this.#askedAt = performance.now();
    const fail = (failure: unknown): void => this.#fail(failure);
    try {
      const asking = Promise.resolve(this.pool.getConnection(this.#request));
      asking.then((connection) => this.#receive(connection), fail);
    } catch (error) {
      return fail(error);
    }
    // A pool with a free connection has responded by then, and needs no timer.
    void TURN.then(() => {
      if (!this.#isSettled) this.#limitWait();
    });
  }

  cancel(reason: unknown): void {
    this.#request.cancel(reason);
  }

  /** Publishes how long it took, for a scope that was opened. */
  publish(scope: IContainer): void {
    if (!transactionAcquired.hasSubscribers) return;
    const by = this.#request;
    transactionAcquired.publish({ parent: this.#parent, scope, milliseconds: since(this.#askedAt), by });
  }

  /** Gives a connection back that nobody has used. */
  release(connection: IPooledConnection): void {
    const fail = (cause: unknown): void => {
      const what = 'release() of the connection failed';
      report(this.#settings, new TransactionError('AMBIT_TX_SCOPE_FAILED', what, { cause }));
    };
    callSafely(() => connection.release(), fail);
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

  #receive(connection: IPooledConnection): void {
    if (this.#isSettled) return this.release(connection);
    if (!connection || typeof connection !== 'object')
      return this.#fail(new TypeError(`getConnection() gave ${String(connection)}`));
    this.#acquirer.receive(connection, this.#stopWaiting());
  }

  #fail(failure: unknown): void {
    if (this.#isSettled) return;
    this.#stopWaiting();
    const error = asCoded(failure, 'AMBIT_TX_ACQUIRE_FAILED', 'No connection could be acquired');
    if (transactionRefused.hasSubscribers) {
      transactionRefused.publish({ parent: this.#parent, milliseconds: since(this.#askedAt), error });
    }
    this.#acquirer.fail(error);
  }

  /** Refuses a pool registered without singleton(): every transaction would open a pool, which nobody closes. */
  #resolvePool(): IDatabasePool {
    const key = this.#settings.database.pool;
    const pool = this.#parent.resolve<IDatabasePool>(key);
    if (Acquisition.#lasting.has(pool)) return pool;
    if (typeof pool.getConnection !== 'function') throw notAPool(`'${key}'`, 'getConnection', pool);
    if (this.#parent.resolve<IDatabasePool>(key) !== pool) {
      throw new TransactionError('AMBIT_UNDISPOSED', `Each resolve of '${key}' makes another pool`);
    }
    Acquisition.#lasting.add(pool);
    return pool;
  }
}
