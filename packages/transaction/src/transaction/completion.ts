import { type Failure, settleWithin } from '../core/clock.js';
import type { BeginOptions, IPooledConnection } from '../core/contract.js';
import { because, isTransactionError, report, TransactionError } from '../core/errors.js';
import { transactionFinished } from '../core/events.js';
import type { Settings } from '../core/options.js';
import { saysNothingStored } from '../core/sql-state.js';
import type { StatementQueue } from '../core/statement-queue.js';
import type { CallbackKind, Callbacks } from './callbacks.js';
import { cancelSoon } from './cancellation.js';
import type { ScopedConnection } from './scoped-connection.js';

/** What became of a transaction. It is `unknown` where COMMIT was sent and the database did not say what it did. */
export type TransactionOutcome = 'committed' | 'rolled back' | 'unknown';
/** `acquired` until BEGIN has succeeded, then `open`, then the outcome. */
export type TransactionState = 'acquired' | 'open' | TransactionOutcome;

interface Completed {
  readonly state: TransactionState;
  readonly error: TransactionError | undefined;
  readonly rollback: { readonly reason: unknown } | undefined;
  /** The callbacks that run afterwards are being called. */
  readonly isInCallback: boolean;
}

/** The error of every use after a commit or a rollback was asked for. */
function refusalAfter({ state, error, rollback, isInCallback }: Completed): TransactionError {
  if (isInCallback)
    return new TransactionError(
      'AMBIT_TX_IN_CALLBACK',
      `The transaction is ${state}, and its callbacks are being called`,
    );
  const how = rollback ? 'was rolled back' : state === 'open' ? 'is being committed' : `is ${state}`;
  const reason = rollback?.reason ?? error;
  if (isAborted(error)) return abortedUse(`The transaction ${how}`, error.cause);
  const options = reason === undefined ? {} : { cause: reason };
  return new TransactionError('AMBIT_TX_FINISHED', `The transaction ${how}${because(reason)}`, options);
}

/** The error of a statement that failed: after an abort the database only says that the statement was cancelled. */
export function failedStatement(error: unknown, transactionError: TransactionError | undefined): unknown {
  return isAborted(transactionError) ? abortedUse('A statement was cancelled', error) : error;
}

function isAborted(error: TransactionError | undefined): error is TransactionError {
  return error?.code === 'AMBIT_TX_ABORTED';
}

function abortedUse(what: string, cause: unknown): TransactionError {
  return new TransactionError('AMBIT_TX_ABORTED', what, { cause });
}

/** What a failed COMMIT means: nothing is stored where the database itself says so, otherwise nobody knows. */
function failedCommit(cause: unknown): { state: TransactionOutcome; error: TransactionError } {
  if (saysNothingStored(cause)) {
    const error = new TransactionError('AMBIT_TX_COMMIT_FAILED', `COMMIT failed${because(cause)}`, { cause });
    return { state: 'rolled back', error };
  }
  const error = new TransactionError('AMBIT_TX_OUTCOME_UNKNOWN', 'COMMIT was sent and got no response', { cause });
  return { state: 'unknown', error };
}

/** Whether the error was made by `failedCommit()`. */
export function isFailedCommit({ code }: TransactionError): boolean {
  return code === 'AMBIT_TX_COMMIT_FAILED' || code === 'AMBIT_TX_OUTCOME_UNKNOWN';
}

export function openTooLong(ms: number): TransactionError {
  return new TransactionError('AMBIT_TX_TIMEOUT', `The transaction was open for ${Math.round(ms)} ms`);
}

/** Why a transaction can only roll back. */
export interface PastFailure extends Failure {
  /** A run that had joined the transaction failed, and no statement of it. */
  readonly isOfRun?: boolean;
}

/** The consequence of a statement, or a run, that failed before. */
export function failedBefore({ error: cause, isOfRun }: PastFailure, consequence: string): TransactionError {
  const reason = isOfRun ? 'a run that had joined the transaction failed' : 'an earlier statement failed';
  return new TransactionError('AMBIT_TX_FAILED', `${consequence}, because ${reason}`, { cause });
}

function isConnectionLost(error: unknown): boolean {
  return isTransactionError(error) && error.code === 'AMBIT_TX_CONNECTION_LOST';
}

const oneTurn = Promise.resolve();

/**
 * The state machine: acquired -> open -> committed | rolled back | unknown. It knows no scope.
 *
 * Invariants: the first call of `commit()` or `rollback()` causes `#decide()`, which runs once and is the only code that
 * sends COMMIT or ROLLBACK. It sends COMMIT only while no statement has failed and nobody has asked for a rollback. Once
 * COMMIT is sent, only the response of the database counts. `beforeCommit` callbacks run before the decision: as long as
 * they do the transaction is open, for statements and for a rollback.
 */
export class Completion {
  /** `performance.now()` when COMMIT or ROLLBACK was sent, if anybody listens. */
  sentAt = 0;
  /** Made for the first callback: a transaction without any pays nothing. */
  callbacks: Callbacks | undefined = undefined;
  readonly #connection: IPooledConnection;
  readonly #queue: StatementQueue;
  readonly #settings: Settings;
  readonly #statements: Pick<ScopedConnection, 'failure'>;
  readonly #onDecided: () => void;
  #state: TransactionState = 'acquired';
  #isBeginSent = false;
  #isCommitSent = false;
  /** A statement still runs that we no longer wait for, so ROLLBACK would only queue up behind it. */
  #isAbandoned = false;
  #rollback: { readonly reason: unknown } | undefined = undefined;
  #isPreparing = false;
  #isRequested = false;
  /** What a `beforeCommit` callback has thrown. */
  #thrown: Failure | undefined = undefined;
  #error: TransactionError | undefined = undefined;
  #broken: Error | undefined = undefined;

  constructor(
    connection: IPooledConnection,
    queue: StatementQueue,
    settings: Settings,
    statements: Pick<ScopedConnection, 'failure'>,
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

  /** What `commit()` rejects with: what a `beforeCommit` callback threw is passed on as it is, like what a run's work throws. */
  get rejection(): unknown {
    return this.#thrown ? this.#thrown.error : (this.#error ?? this.refusal());
  }

  /** Why it was rolled back, as the work threw it, for callbacks and disposers; undefined where it was committed. */
  get reason(): unknown {
    return this.#state === 'committed' ? undefined : (this.#rollback?.reason ?? this.rejection);
  }

  /** Why the connection may be broken and must not be used again. */
  get broken(): Error | undefined {
    return this.#broken;
  }

  /** Whether it is about to be decided: a rollback was asked for, or a commit, and nothing is left to do before that. */
  get isRequested(): boolean {
    return this.#isRequested;
  }

  /** Sends BEGIN, as the first statement. `onSettled` is called once, also when the statement is abandoned. */
  begin(terms: BeginOptions, onSettled: (failure?: Failure) => void): void {
    this.#isBeginSent = true;
    sendBegin(this.#connection, this.#queue, terms, (failure) => {
      if (!failure && !this.isRequested) this.#state = 'open';
      onSettled(failure);
    });
  }

  /** When the outcome is decided, `onDecided` is called; `state` and `error` tell which. A second call changes nothing. */
  commit(): void {
    if (this.#isPreparing) return;
    if (!this.callbacks?.prepares) return this.#close();
    this.#isPreparing = true;
    void this.#nextTurn().then(() => this.#prepare());
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

  /** Whether a callback of this kind can still be called. */
  accepts(kind: CallbackKind): boolean {
    if (this.#state === 'committed') return kind === 'afterCommit' || kind === 'beforeResponse';
    const isPending = this.#state === 'acquired' || this.#state === 'open';
    return isPending && !(kind === 'beforeCommit' && this.#isRequested);
  }

  /** The error of every use after the transaction has completed. */
  readonly refusal = (): TransactionError => {
    const isInCallback = this.callbacks?.isRunning ?? false;
    return refusalAfter({ state: this.#state, error: this.#error, rollback: this.#rollback, isInCallback });
  };

  async #prepare(): Promise<void> {
    try {
      if (!this.#statements.failure) await this.callbacks?.prepare(() => this.#isRequested);
    } catch (error) {
      if (!this.#isRequested) this.#thrown = { error };
      return this.rollback(error);
    }
    this.#close();
  }

  #close(): void {
    this.#queue.close(this.refusal);
    this.#request();
  }

  #request(): void {
    if (this.#isRequested) return;
    this.#isRequested = true;
    void this.#nextTurn().then(() => this.#decide());
  }

  /** Always a turn later, so that a commit and a rollback of the same moment are a rollback. */
  #nextTurn(): Promise<void> {
    return this.#queue.busy ? this.#queue.idle() : oneTurn;
  }

  #decide(): void {
    const { failure } = this.#statements;
    if (failure && !this.#rollback) this.#error = failedBefore(failure, 'The transaction was rolled back');
    if (failure || this.#rollback) return this.#sendRollback();
    this.#isCommitSent = true;
    this.#send('COMMIT', (failed) => {
      this.#state = 'committed';
      if (failed) ({ state: this.#state, error: this.#error } = failedCommit(failed.error));
      if (this.#state === 'unknown') this.#broken = this.#error;
      this.#onDecided();
    });
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

  #send(what: 'COMMIT' | 'ROLLBACK', onSettled: (failure?: Failure) => void): void {
    if (transactionFinished.hasSubscribers) this.sentAt = performance.now();
    sendEnd(what, this.#connection, this.#settings, onSettled);
  }
}

/** Called once: with the response of the database, when the time limit has passed, or when the statement is abandoned. */
type OnSettled = (failure?: Failure) => void;

function sendBegin(
  connection: IPooledConnection,
  queue: StatementQueue,
  terms: BeginOptions,
  onSettled: OnSettled,
): void {
  let isSettled = false;
  const settle = (failure?: Failure): void => {
    if (isSettled) return;
    isSettled = true;
    queue.leave();
    onSettled(failure);
  };
  void queue.enter();
  try {
    const response = connection.beginTransaction(terms);
    queue.unlessAbandoned(
      response,
      () => settle(),
      (error) => settle({ error }),
    );
  } catch (error) {
    settle({ error });
  }
}

function sendEnd(
  what: 'COMMIT' | 'ROLLBACK',
  connection: IPooledConnection,
  { clock, endTimeoutMs }: Settings,
  onSettled: OnSettled,
): void {
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
