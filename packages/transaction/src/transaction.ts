import { within } from './clock.js';
import type { IContainer } from '@ambit/container';
import type { IConnection, IPooledConnection } from './contract.js';
import { Ending, type TransactionState } from './ending.js';
import { asCoded, TransactionError } from './errors.js';
import { stopwatch, tellBegun, tellEnded, transactionBegun } from './events.js';
import { Handle } from './handle.js';
import { Lane } from './lane.js';
import { runInSavepoint } from './nested.js';
import type { NestedRun } from './nested-runs.js';
import { report, type Settings, type TransactionOptions } from './options.js';
import { release } from './release.js';
import { ScopeEnd } from './scope-end.js';
import { type OfTransaction, TRANSACTION } from './transaction-of.js';
import { watch } from './watch.js';

export type { TransactionOutcome, TransactionState } from './ending.js';

/**
 * A transaction and its scope, ended together and exactly once, whoever asks and however often.
 *
 * Order of every end: statements under way settle, COMMIT or ROLLBACK, the scope is disposed, the connection goes
 * home (or is destroyed when its state is in doubt). One exception: where somebody else disposes the scope, its instances
 * end before the ROLLBACK, because a container with `defer()` ends the newest first.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, beginTransaction } from '@ambit/transaction';
 *
 * async function placeOrder(requestScope: IContainer): Promise<void> {
 *   const transaction = await beginTransaction(requestScope);
 *   try {
 *     const connection = transaction.scope.resolve<IConnection>('IConnection');
 *     await connection.query('INSERT INTO orders (id) VALUES ($1)', ['42']);
 *     await transaction.commit();
 *   } catch (error) {
 *     await transaction.rollback(error);
 *     throw error;
 *   }
 * }
 * ```
 */
export class Transaction {
  /** The scope tagged `transaction`, with the open connection as `IConnection`. */
  readonly scope: IContainer;
  /** @internal What it was begun with. */
  readonly settings: Settings;
  /** @internal The nested runs at work, outermost first. */
  readonly nestedRuns: NestedRun[] = [];
  readonly #scopeEnd: ScopeEnd;
  readonly #connection: IPooledConnection;
  readonly #lane = new Lane();
  readonly #handle: Handle;
  readonly #ending: Ending;
  #stopWatching: (() => void) | undefined = undefined;
  #abort: AbortController | undefined = undefined;
  #onLost: ((error: TransactionError) => void) | undefined = undefined;
  #closing: Promise<void> | undefined = undefined;

  /** Takes over an acquired connection; `beginTransaction()` is the way in. */
  constructor(parent: IContainer, scope: IContainer, connection: IPooledConnection, settings: Settings) {
    this.scope = scope;
    this.#scopeEnd = new ScopeEnd(parent, scope, (reason) => this.rollback(reason));
    this.settings = settings;
    this.#connection = connection;
    this.#handle = new Handle(this, connection, this.#lane);
    this.#ending = new Ending(connection, this.#lane, settings, () => this.#failure());
  }

  get state(): TransactionState {
    return this.#ending.state;
  }

  /** What the scope has as `IConnection`: it works until the end, then refuses. */
  get connection(): IConnection {
    return this.#handle;
  }

  /** Why it did not commit, once that is certain. */
  get error(): TransactionError | undefined {
    return this.#ending.error;
  }

  /**
   * Aborts once its end was asked for and is a rollback, or unknown, so that the work may stop early. A failed statement
   * alone does not abort it: a nested run or a `ROLLBACK TO` may repair that.
   */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.error) this.#abort.abort(this.error);
    }
    return this.#abort.signal;
  }

  /**
   * Calls one listener with the error when the signal aborts, or at once if it has, for much less than the signal costs.
   * A second listener replaces the first.
   */
  onLost(tell: (error: TransactionError) => void): void {
    this.#onLost = tell;
    if (this.error) tell(this.error);
  }

  /** @internal Registers the handle, sends BEGIN. When it rejects, all is undone. */
  async begin(): Promise<void> {
    const ending = this.#ending;
    try {
      (this.scope as OfTransaction)[TRANSACTION] = this;
      this.#scopeEnd.watch();
      this.scope.register('IConnection', () => this.#handle);
      this.#stopWatching = watch(this.settings, (why) => void this.rollback(why));
      const milliseconds = stopwatch(transactionBegun);
      if (!ending.begun) await ending.begin(this.settings.terms);
      if (!ending.begun) return tellBegun(this.scope, milliseconds());
    } catch (error) {
      if (!ending.begun) void ending.rollback(asCoded(error, 'AMBIT_TX_BEGIN_FAILED', 'BEGIN failed'));
    }
    await this.#close();
    throw ending.error ?? ending.ended();
  }

  /** Resolves when committed and wholly ended. Rejects with the reason, in every other case, as often as it is called. */
  async commit(): Promise<void> {
    void this.#ending.commit();
    await this.#close();
    this.#throwUnlessCommitted();
  }

  /** Resolves when the transaction has wholly ended. Never rejects, and undoes no commit that was already sent. */
  async rollback(reason?: unknown): Promise<void> {
    this.#startRollback(reason);
    await this.#close();
  }

  /** @internal A nested run in a savepoint. Other copies of this package call it, so what is nested is known to one copy. */
  runNested<T>(work: () => Promise<T>, options: TransactionOptions): Promise<T> {
    return runInSavepoint(this, work, options);
  }

  /** @internal Its caller may be the scope's own disposal: it waits for the database only, not for the scope. */
  async commitFromHandle(): Promise<void> {
    const decided = this.#ending.commit();
    void this.#close();
    await decided;
    this.#throwUnlessCommitted();
  }

  /** @internal The same. */
  async rollbackFromHandle(): Promise<void> {
    this.#startRollback(undefined);
    void this.#close();
    await this.#ending.decided();
  }

  /** @internal From now on it can only roll back, and nothing repairs that. */
  doom(error: unknown): void {
    this.#handle.doom(error);
  }

  /** Why COMMIT must not be sent. */
  #failure(): { readonly error: unknown } | undefined {
    if (this.#handle.failure || this.nestedRuns.length === 0) return this.#handle.failure;
    return { error: new TransactionError('AMBIT_TX_NESTED', 'The end came while a nested run was still at work') };
  }

  #startRollback(reason: unknown): void {
    void this.#ending.rollback(reason);
    this.#tellIfLost();
  }

  #tellIfLost(): void {
    if (!this.error) return;
    this.#abort?.abort(this.error);
    this.#onLost?.(this.error);
  }

  #throwUnlessCommitted(): void {
    if (this.state !== 'committed') throw this.#ending.error ?? this.#ending.ended();
  }

  #close(): Promise<void> {
    this.#closing ??= this.#closeOnce();
    return this.#closing;
  }

  async #closeOnce(): Promise<void> {
    await this.#ending.decided();
    tellEnded(this, this.#ending.milliseconds);
    this.#stopWatching?.();
    this.#tellIfLost();
    const { clock, endTimeoutMs } = this.settings;
    try {
      const disposed = this.#scopeEnd.dispose();
      if (disposed) await within(clock, endTimeoutMs, disposed, () => new Error('it took too long'));
    } catch (error) {
      this.#report('dispose() of the transaction scope', error);
    }
    release(this.#connection, this.#ending.doubt, this.settings);
    this.#scopeEnd.forget();
  }

  #report(what: string, error: unknown): void {
    report(this.settings, new TransactionError('AMBIT_TX_SCOPE_FAILED', `${what} failed`, { cause: error }));
  }
}
