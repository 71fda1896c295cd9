import { within } from '../core/clock.js';
import type { BeginOptions, IPooledConnection } from '../core/contract.js';
import { because, isTransactionError, TransactionError } from '../core/errors.js';
import { transactionEnded } from '../core/events.js';
import type { Settings } from '../core/options.js';
import { report } from '../core/report.js';
import { saysNothingStored } from '../core/sql-state.js';
import type { StatementQueue } from '../core/statement-queue.js';
import { cancelSoon } from './cancellation.js';
import { type Failure, failedBefore } from './scoped-connection.js';

export type TransactionOutcome = 'committed' | 'rolled back' | 'unknown';
export type TransactionState = 'acquired' | 'open' | TransactionOutcome;

/**
 * The state machine: acquired -> open -> committed | rolled back | unknown. It knows no scope.
 *
 * Invariants: the first call of `commit()` or `rollback()` starts `#decide()`, which runs once and is the only code that
 * sends COMMIT or ROLLBACK. It sends COMMIT only while no statement has failed and nobody has asked for a rollback. Once
 * COMMIT is sent, only the response of the database counts.
 */
export class Completion {
  /** `performance.now()` when COMMIT or ROLLBACK was sent, if anybody listens. */
  sentAt = 0;
  readonly #connection: IPooledConnection;
  readonly #queue: StatementQueue;
  readonly #settings: Settings;
  readonly #statements: { readonly failure: Failure | undefined };
  #state: TransactionState = 'acquired';
  #isBeginSent = false;
  #isCommitSent = false;
  /** A statement still runs that we no longer wait for, so ROLLBACK would only queue up behind it. */
  #isAbandoned = false;
  #rollback: { readonly reason: unknown } | undefined = undefined;
  #decision: Promise<void> | undefined = undefined;
  #error: TransactionError | undefined = undefined;
  #broken: Error | undefined = undefined;

  constructor(
    connection: IPooledConnection,
    queue: StatementQueue,
    settings: Settings,
    statements: { readonly failure: Failure | undefined },
  ) {
    this.#connection = connection;
    this.#queue = queue;
    this.#settings = settings;
    this.#statements = statements;
  }

  get state(): TransactionState {
    return this.#state;
  }

  /** Why the transaction did not commit. */
  get error(): TransactionError | undefined {
    return this.#error;
  }

  /** Why the connection may be broken and must not be used again. */
  get broken(): Error | undefined {
    return this.#broken;
  }

  /** Whether a commit or a rollback was asked for. */
  get isRequested(): boolean {
    return this.#decision !== undefined;
  }

  async begin(terms: BeginOptions): Promise<void> {
    const turn = this.#queue.enter();
    if (turn) await turn;
    try {
      this.#isBeginSent = true;
      await this.#queue.unlessAbandoned(this.#connection.beginTransaction(terms));
      if (!this.isRequested) this.#state = 'open';
    } finally {
      this.#queue.leave();
    }
  }

  /** Resolves when the outcome is decided; `state` and `error` tell which. A second call changes nothing. */
  commit(): Promise<void> {
    this.#queue.close(this.refusal);
    return this.decided();
  }

  /** Resolves when the outcome is decided: before COMMIT was sent that is a rollback, after it the response to COMMIT. */
  rollback(reason: unknown): Promise<void> {
    if (!this.#rollback && !this.#isCommitSent) {
      this.#rollback = { reason };
      this.#error ??= isTransactionError(reason) ? reason : this.refusal();
      this.#queue.clear(this.refusal);
      if (this.#queue.busy) this.#cancelSoon();
    }
    return this.decided();
  }

  decided(): Promise<void> {
    this.#decision ??= this.#decide();
    return this.#decision;
  }

  /** The error of every use after the transaction has completed. */
  readonly refusal = (): TransactionError => {
    const how = this.#rollback
      ? 'was rolled back'
      : this.#state === 'open'
        ? 'is being committed'
        : `is ${this.#state}`;
    const reason = this.#rollback?.reason ?? this.#error;
    return new TransactionError(
      'AMBIT_TX_ENDED',
      `The transaction ${how}${because(reason)}`,
      reason === undefined ? {} : { cause: reason },
    );
  };

  async #decide(): Promise<void> {
    // Always a turn later, so that a commit and a rollback of the same moment are a rollback.
    await (this.#queue.busy ? this.#queue.idle() : undefined);
    const { failure } = this.#statements;
    if (failure && !this.#rollback) this.#error = failedBefore(failure.error, 'The transaction was rolled back');
    if (failure || this.#rollback) return this.#sendRollback();
    this.#isCommitSent = true;
    try {
      if (transactionEnded.hasSubscribers) this.sentAt = performance.now();
      await this.#inTime('COMMIT', this.#connection.commit());
      this.#state = 'committed';
    } catch (error) {
      this.#commitFailed(error);
    }
  }

  #commitFailed(cause: unknown): void {
    if (saysNothingStored(cause)) {
      this.#state = 'rolled back';
      this.#error = new TransactionError('AMBIT_TX_COMMIT_FAILED', `COMMIT failed${because(cause)}`, { cause });
    } else {
      this.#state = 'unknown';
      this.#error = new TransactionError('AMBIT_TX_OUTCOME_UNKNOWN', 'COMMIT was sent and got no response', { cause });
      this.#broken = this.#error;
    }
  }

  async #sendRollback(): Promise<void> {
    if (this.#isBeginSent && !this.#isAbandoned) {
      try {
        if (transactionEnded.hasSubscribers) this.sentAt = performance.now();
        await this.#inTime('ROLLBACK', this.#connection.rollback());
      } catch (error) {
        const failure = new TransactionError('AMBIT_TX_ROLLBACK_FAILED', 'ROLLBACK failed', { cause: error });
        this.#broken = failure;
        if (!this.#isConnectionLost) report(this.#settings, failure);
      }
    }
    this.#state = 'rolled back';
  }

  /** The failed statement has reported it, so the ROLLBACK that cannot be sent is no second failure. */
  get #isConnectionLost(): boolean {
    const error = this.#statements.failure?.error;
    return isTransactionError(error) && error.code === 'AMBIT_TX_CONNECTION_LOST';
  }

  #cancelSoon(): void {
    cancelSoon({
      connection: this.#connection,
      queue: this.#queue,
      settings: this.#settings,
      onBroken: (error, isAbandoned) => {
        this.#isAbandoned = isAbandoned;
        this.#broken = isAbandoned ? error : (this.#broken ?? error);
      },
    });
  }

  #inTime(what: string, response: Promise<void>): Promise<void> {
    if (this.#connection.synchronous) return response;
    const { clock, endTimeoutMs } = this.#settings;
    return within(clock, endTimeoutMs, response, () => {
      const detail = `The database did not respond to ${what} within ${endTimeoutMs} ms`;
      return new TransactionError('AMBIT_TX_CONNECTION_LOST', detail);
    });
  }
}
