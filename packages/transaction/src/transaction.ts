import { startTimer, within } from './clock.js';
import type { IContainer } from '@ambit/container';
import type { BeginOptions, IConnection, IPooledConnection } from './contract.js';
import { Ending, type TransactionState } from './ending.js';
import { aborted, TransactionError } from './errors.js';
import { Handle } from './handle.js';
import { Lane } from './lane.js';
import { beginOptions, type Settings } from './options.js';
import { onScopeEnd } from './scope-end.js';

export type { TransactionOutcome, TransactionState } from './ending.js';

/**
 * A transaction and its scope, ended together and exactly once, whoever asks and however often.
 *
 * Order of every end: statements under way settle, COMMIT or ROLLBACK, the scope is disposed, the connection goes
 * home (or is destroyed when its state is in doubt).
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
  /** @internal What BEGIN was told. */
  readonly terms: BeginOptions;
  /** @internal Savepoints that nested runs hold open, outermost first. */
  readonly savepoints: string[] = [];
  readonly #settings: Settings;
  readonly #connection: IPooledConnection;
  readonly #lane = new Lane();
  readonly #handle: Handle;
  readonly #ending: Ending;
  readonly #stopWatching: (() => void)[] = [];
  #abort: AbortController | undefined;
  #closing: Promise<void> | undefined;
  /** Somebody disposes the scope, so waiting for its end from within would wait for ourselves. */
  #scopeEnds = false;

  /** Takes over an acquired connection; `beginTransaction()` is the way in. */
  constructor(scope: IContainer, connection: IPooledConnection, settings: Settings) {
    this.scope = scope;
    this.terms = beginOptions(settings);
    this.#settings = settings;
    this.#connection = connection;
    this.#handle = new Handle({
      transaction: this,
      connection,
      lane: this.#lane,
      commitFromHandle: () => this.#commitFromHandle(),
      rollbackFromHandle: () => this.#rollbackFromHandle(),
    });
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

  /** Aborts as soon as the transaction can no longer commit, so that the work may stop early. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.error) this.#abort.abort(this.error);
    }
    return this.#abort.signal;
  }

  /** @internal Registers the handle, sends BEGIN. Rejects when anything ended the transaction meanwhile. */
  async begin(): Promise<void> {
    onScopeEnd(this.scope, () => this.#endWithScope());
    this.scope.register('IConnection', () => this.#handle);
    this.#watch();
    try {
      if (!this.#ending.begun) await this.#ending.begin(this.terms);
    } catch (error) {
      if (!this.#ending.begun) throw error;
    }
    if (!this.#ending.begun) return;
    await this.#close();
    throw this.#ending.error ?? this.#ending.ended();
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

  /** Why COMMIT must not be sent. */
  #failure(): { readonly error: unknown } | undefined {
    if (this.#handle.failure || this.savepoints.length === 0) return this.#handle.failure;
    return { error: new TransactionError('AMBIT_TX_NESTED', 'The end came while a nested run was still at work') };
  }

  #startRollback(reason: unknown): void {
    void this.#ending.rollback(reason);
    if (this.error) this.#abort?.abort(this.error);
  }

  /** The handle's owner may be the scope's own disposal: it waits for the database only, not for the scope. */
  async #commitFromHandle(): Promise<void> {
    const decided = this.#ending.commit();
    void this.#close();
    await decided;
    this.#throwUnlessCommitted();
  }

  async #rollbackFromHandle(): Promise<void> {
    this.#startRollback(undefined);
    void this.#close();
    await this.#ending.decided();
  }

  async #endWithScope(): Promise<void> {
    if (this.#scopeEnds) return;
    this.#scopeEnds = true;
    await this.rollback(new TransactionError('AMBIT_TX_ENDED', 'The scope of the transaction was disposed'));
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
    for (const stop of this.#stopWatching) stop();
    if (this.error) this.#abort?.abort(this.error);
    if (!this.#scopeEnds) await this.#disposeScope();
    try {
      this.#connection.release(this.#ending.doubt);
    } catch (error) {
      this.#report('release() of the connection', error);
    }
  }

  async #disposeScope(): Promise<void> {
    this.#scopeEnds = true;
    const { clock, endTimeoutMs } = this.#settings;
    try {
      await within(clock, endTimeoutMs, (async () => this.scope.dispose())(), () => new Error('it took too long'));
    } catch (error) {
      this.#report('dispose() of the transaction scope', error);
    }
  }

  #report(what: string, error: unknown): void {
    this.#settings.onError(new TransactionError('AMBIT_TX_SCOPE_FAILED', `${what} failed`, { cause: error }));
  }

  #watch(): void {
    const { signal, timeoutMs, clock } = this.#settings;
    const tooLong = (): TransactionError =>
      new TransactionError('AMBIT_TX_TIMEOUT', `The transaction was open for ${Math.round(timeoutMs)} ms`);
    this.#stopWatching.push(startTimer(clock, () => void this.rollback(tooLong()), timeoutMs));
    if (!signal) return;
    const onAbort = (): void => void this.rollback(aborted(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    this.#stopWatching.push(() => signal.removeEventListener('abort', onAbort));
    if (signal.aborted) onAbort();
  }
}
