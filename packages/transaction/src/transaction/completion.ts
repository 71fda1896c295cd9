import { type Failure, settleWithin } from '../core/clock.js';
import type { BeginOptions, IPooledConnection } from '../core/contract.js';
import { isTransactionError, TransactionError } from '../core/errors.js';
import { transactionEnded } from '../core/events.js';
import type { Settings } from '../core/options.js';
import { report } from '../core/report.js';
import type { StatementQueue } from '../core/statement-queue.js';
import { cancelSoon } from './cancellation.js';
import { failedBefore, failedCommit, isConnectionLost, refusalAfter, type TransactionState } from './outcome.js';

const oneTurn = Promise.resolve();

/**
 * The state machine: acquired -> open -> committed | rolled back | unknown. It knows no scope.
 *
 * Invariants: the first call of `commit()` or `rollback()` causes `#decide()`, which runs once and is the only code that
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
  readonly #onDecided: () => void;
  #state: TransactionState = 'acquired';
  #isBeginSent = false;
  #isCommitSent = false;
  /** A statement still runs that we no longer wait for, so ROLLBACK would only queue up behind it. */
  #isAbandoned = false;
  #rollback: { readonly reason: unknown } | undefined = undefined;
  #isRequested = false;
  #error: TransactionError | undefined = undefined;
  #broken: Error | undefined = undefined;

  constructor(
    connection: IPooledConnection,
    queue: StatementQueue,
    settings: Settings,
    statements: { readonly failure: Failure | undefined },
    onDecided: () => void,
  ) {
    this.#connection = connection;
    this.#queue = queue;
    this.#settings = settings;
    this.#statements = statements;
    this.#onDecided = onDecided;
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
    return this.#isRequested;
  }

  /** Sends BEGIN, as the first statement. `onSettled` is called once, also when the statement is abandoned. */
  begin(terms: BeginOptions, onSettled: (failure?: Failure) => void): void {
    let isSettled = false;
    const settle = (failure?: Failure): void => {
      if (isSettled) return;
      isSettled = true;
      if (!failure && !this.isRequested) this.#state = 'open';
      this.#queue.leave();
      onSettled(failure);
    };
    void this.#queue.enter();
    this.#isBeginSent = true;
    try {
      const response = this.#connection.beginTransaction(terms);
      this.#queue.unlessAbandoned(
        response,
        () => settle(),
        (error) => settle({ error }),
      );
    } catch (error) {
      settle({ error });
    }
  }

  /** When the outcome is decided, `onDecided` is called; `state` and `error` tell which. A second call changes nothing. */
  commit(): void {
    this.#queue.close(this.refusal);
    this.#request();
  }

  /** The same: before COMMIT was sent the outcome is a rollback, after it the response to COMMIT. */
  rollback(reason: unknown): void {
    if (!this.#rollback && !this.#isCommitSent) {
      this.#rollback = { reason };
      this.#error ??= isTransactionError(reason) ? reason : this.refusal();
      this.#queue.clear(this.refusal);
      if (this.#queue.busy) this.#cancelSoon();
    }
    this.#request();
  }

  /** The error of every use after the transaction has completed. */
  readonly refusal = (): TransactionError =>
    refusalAfter({ state: this.#state, error: this.#error, rollback: this.#rollback });

  #request(): void {
    if (this.#isRequested) return;
    this.#isRequested = true;
    // Always a turn later, so that a commit and a rollback of the same moment are a rollback.
    void (this.#queue.busy ? this.#queue.idle() : oneTurn).then(() => this.#decide());
  }

  #decide(): void {
    const { failure } = this.#statements;
    if (failure && !this.#rollback) this.#error = failedBefore(failure.error, 'The transaction was rolled back');
    if (failure || this.#rollback) return this.#sendRollback();
    this.#isCommitSent = true;
    this.#send('COMMIT', (failed) => {
      if (failed) this.#commitFailed(failed.error);
      else this.#state = 'committed';
      this.#onDecided();
    });
  }

  #commitFailed(cause: unknown): void {
    const { state, error } = failedCommit(cause);
    this.#state = state;
    this.#error = error;
    if (state === 'unknown') this.#broken = error;
  }

  #sendRollback(): void {
    const decide = (): void => {
      this.#state = 'rolled back';
      this.#onDecided();
    };
    if (!this.#isBeginSent || this.#isAbandoned) return decide();
    this.#send('ROLLBACK', (failed) => {
      if (failed) {
        const error = new TransactionError('AMBIT_TX_ROLLBACK_FAILED', 'ROLLBACK failed', { cause: failed.error });
        this.#broken = error;
        // The failed statement has reported it, so the ROLLBACK that cannot be sent is no second failure.
        if (!isConnectionLost(this.#statements.failure?.error)) report(this.#settings, error);
      }
      decide();
    });
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

  /** Calls `onSettled` once: with the response of the database, or when the time limit has passed. */
  #send(what: 'COMMIT' | 'ROLLBACK', onSettled: (failure?: Failure) => void): void {
    const connection = this.#connection;
    const { clock, endTimeoutMs } = this.#settings;
    if (transactionEnded.hasSubscribers) this.sentAt = performance.now();
    try {
      const response = what === 'COMMIT' ? connection.commit() : connection.rollback();
      const late = (): TransactionError => {
        const detail = `The database did not respond to ${what} within ${endTimeoutMs} ms`;
        return new TransactionError('AMBIT_TX_CONNECTION_LOST', detail);
      };
      settleWithin(clock, connection.synchronous ? Infinity : endTimeoutMs, response, late, onSettled);
    } catch (error) {
      onSettled({ error });
    }
  }
}
