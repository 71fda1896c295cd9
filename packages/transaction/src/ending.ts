import { startTimer, within } from './clock.js';
import type { BeginOptions, IPooledConnection } from './contract.js';
import { because, isTransactionError, TransactionError } from './errors.js';
import { stopwatch, transactionEnded } from './events.js';
import { saysNothingStored } from './faults.js';
import { failed } from './handle.js';
import type { Lane } from './lane.js';
import { report, type Settings } from './options.js';
import { callSafely } from './release.js';

export type TransactionOutcome = 'committed' | 'rolled back' | 'unknown';
export type TransactionState = 'acquired' | 'open' | TransactionOutcome;

/**
 * The state machine: none -> acquired -> open -> committed | rolled back | unknown. It knows no scope.
 *
 * Invariants: `#decision` is made once, by whoever asks first, and is the only code that speaks COMMIT or ROLLBACK.
 * COMMIT is sent only while no statement has failed and nobody has asked for a rollback; once it is sent, only the
 * database's answer counts.
 */
export class Ending {
  readonly #connection: IPooledConnection;
  readonly #lane: Lane;
  readonly #settings: Settings;
  readonly #failure: () => { readonly error: unknown } | undefined;
  #state: TransactionState = 'acquired';
  #beginSent = false;
  #commitSent = false;
  /** A statement still runs that we no longer wait for, so ROLLBACK would only queue up behind it. */
  #abandoned = false;
  #rollback: { readonly reason: unknown } | undefined = undefined;
  #decision: Promise<void> | undefined = undefined;
  #error: TransactionError | undefined = undefined;
  #stopwatch: (() => number) | undefined = undefined;
  #doubt: Error | undefined = undefined;

  constructor(
    connection: IPooledConnection,
    lane: Lane,
    settings: Settings,
    failure: () => { readonly error: unknown } | undefined,
  ) {
    this.#connection = connection;
    this.#lane = lane;
    this.#settings = settings;
    this.#failure = failure;
  }

  get state(): TransactionState {
    return this.#state;
  }

  /** Why the transaction did not commit. */
  get error(): TransactionError | undefined {
    return this.#error;
  }

  /** Why the connection must not be lent again. */
  get doubt(): Error | undefined {
    return this.#doubt;
  }

  /** Since COMMIT or ROLLBACK was sent, where anybody wants to know. */
  get milliseconds(): number {
    return this.#stopwatch?.() ?? 0;
  }

  async begin(options: BeginOptions): Promise<void> {
    const turn = this.#lane.enter();
    if (turn) await turn;
    try {
      this.#beginSent = true;
      await this.#lane.unlessAbandoned(this.#connection.beginTransaction(options));
      if (!this.begun) this.#state = 'open';
    } finally {
      this.#lane.leave();
    }
  }

  /** Whether somebody has asked for the end. */
  get begun(): boolean {
    return this.#decision !== undefined;
  }

  /** Resolves when the outcome is decided; `state` and `error` tell which. A second request changes nothing. */
  commit(): Promise<void> {
    this.#lane.seal(() => this.ended());
    return this.decided();
  }

  decided(): Promise<void> {
    this.#decision ??= this.#decide();
    return this.#decision;
  }

  /** Resolves when the outcome is decided. Before COMMIT was sent that is a rollback, after it whatever COMMIT says. */
  rollback(reason: unknown): Promise<void> {
    if (!this.#rollback && !this.#commitSent) {
      this.#rollback = { reason };
      this.#error ??= isTransactionError(reason) ? reason : this.ended();
      this.#lane.drop(() => this.ended());
      if (this.#lane.busy) this.#hurry();
    }
    return this.decided();
  }

  /** What every use after the end is answered with. */
  ended(): TransactionError {
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
  }

  async #decide(): Promise<void> {
    await this.#lane.idle();
    const failure = this.#failure();
    if (failure && !this.#rollback) this.#error = failed(failure.error, 'The transaction was rolled back');
    if (failure || this.#rollback) return this.#sendRollback();
    this.#commitSent = true;
    try {
      this.#stopwatch = stopwatch(transactionEnded);
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
      this.#error = new TransactionError('AMBIT_TX_OUTCOME_UNKNOWN', 'COMMIT was sent and not answered', { cause });
      this.#doubt = this.#error;
    }
  }

  async #sendRollback(): Promise<void> {
    if (this.#beginSent && !this.#abandoned) {
      try {
        this.#stopwatch = stopwatch(transactionEnded);
        await this.#inTime('ROLLBACK', this.#connection.rollback());
      } catch (error) {
        const failure = new TransactionError('AMBIT_TX_ROLLBACK_FAILED', 'ROLLBACK failed', { cause: error });
        this.#doubt = failure;
        if (!this.#connectionWasLost) report(this.#settings, failure);
      }
    }
    this.#state = 'rolled back';
  }

  /** The statement that failed has said so: that nothing can be sent on that connection is no second failure. */
  get #connectionWasLost(): boolean {
    const error = this.#failure()?.error;
    return isTransactionError(error) && error.code === 'AMBIT_TX_CONNECTION_LOST';
  }

  /** A rollback does not wait long for the statement under way: it cancels it, and at last leaves it to its fate. */
  #hurry(): void {
    const { clock, cancelAfterMs, endTimeoutMs } = this.#settings;
    const callOff = [
      startTimer(clock, () => this.#cancel(), cancelAfterMs),
      startTimer(clock, () => this.#abandon(), cancelAfterMs + endTimeoutMs),
    ];
    void this.#lane.idle().then(() => callOff.forEach((off) => off()));
  }

  #cancel(): void {
    // The request may reach the database late and hit the next borrower's statement, hence no next borrower.
    this.#doubt ??= new TransactionError('AMBIT_TX_CONNECTION_LOST', 'A statement under way at the end was cancelled');
    callSafely(
      () => this.#connection.cancel?.(),
      (cause) => report(this.#settings, new TransactionError('AMBIT_TX_ROLLBACK_FAILED', 'cancel() failed', { cause })),
    );
  }

  #abandon(): void {
    const error = new TransactionError('AMBIT_TX_CONNECTION_LOST', 'A statement did not end when it was cancelled');
    this.#abandoned = true;
    this.#doubt = error;
    this.#lane.abandon(error);
  }

  #inTime(what: string, answer: Promise<void>): Promise<void> {
    if (this.#connection.synchronous) return answer;
    const { clock, endTimeoutMs } = this.#settings;
    return within(clock, endTimeoutMs, answer, () => {
      return new TransactionError('AMBIT_TX_CONNECTION_LOST', `${what} was not answered within ${endTimeoutMs} ms`);
    });
  }
}
