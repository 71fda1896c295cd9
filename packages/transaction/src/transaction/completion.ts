import { type Failure, settleWithin, startTimer } from '../core/clock.js';
import type { BeginOptions, IPooledConnection } from '../core/contract.js';
import { because, isTransactionError, report, TransactionError, withCallersStack } from '../core/errors.js';
import type { StatementQueue } from '../core/queues.js';
import { saysNothingStored } from '../core/sql-state.js';
import type { CallbackKind, Callbacks } from './callbacks.js';
import type { TransactionSettings } from './start.js';
import { abortedUse, failedBefore, isAborted, type ScopedConnection } from './scoped-connection.js';

/** What became of a transaction. It is `unknown` where COMMIT was sent and the database did not say what it did. */
export type TransactionOutcome = 'committed' | 'rolled back' | 'unknown';
/** `acquired` until BEGIN has succeeded, then `open`, then the outcome. */
export type TransactionState = 'acquired' | 'open' | TransactionOutcome;

type PhaseName =
  | 'acquired'
  | 'beginning'
  | 'open'
  | 'preparing'
  | 'closing'
  | 'committing'
  | 'cancelled'
  | 'cancelling'
  | 'rollingBack'
  | 'committed'
  | 'rolledBack'
  | 'unknown';

interface Phase {
  readonly state: TransactionState;
  /** Which callbacks can still be called. */
  readonly accepts: ReadonlySet<CallbackKind>;
  /** How a use of the transaction is refused: `The transaction is being committed`. */
  readonly refusal: string;
  /** The next phase when a rollback is asked for; undefined where that changes nothing any more. */
  readonly rollback: PhaseName | undefined;
}

const ALL: ReadonlySet<CallbackKind> = new Set<CallbackKind>([
  'beforeCommit',
  'beforeResponse',
  'afterCommit',
  'afterRollback',
  'afterEnd',
]);
const AFTERWARDS: ReadonlySet<CallbackKind> = new Set([...ALL].filter((kind) => kind !== 'beforeCommit'));
const AT_ONCE: ReadonlySet<CallbackKind> = new Set<CallbackKind>(['afterCommit', 'beforeResponse']);
const NONE: ReadonlySet<CallbackKind> = new Set();

const PHASES = {
  acquired: { state: 'acquired', accepts: ALL, refusal: 'is acquired', rollback: 'cancelled' },
  // BEGIN was sent.
  beginning: { state: 'acquired', accepts: ALL, refusal: 'is acquired', rollback: 'cancelling' },
  open: { state: 'open', accepts: ALL, refusal: 'is open', rollback: 'rollingBack' },
  // A commit was asked for, and `beforeCommit` callbacks run.
  preparing: { state: 'open', accepts: ALL, refusal: 'is open', rollback: 'rollingBack' },
  // A commit was asked for, and the statements before it run.
  closing: { state: 'open', accepts: AFTERWARDS, refusal: 'is being committed', rollback: 'rollingBack' },
  // COMMIT was sent: only the response of the database counts.
  committing: { state: 'open', accepts: AFTERWARDS, refusal: 'is being committed', rollback: undefined },
  // A rollback was asked for before BEGIN was sent, so there is nothing to roll back.
  cancelled: { state: 'acquired', accepts: AFTERWARDS, refusal: 'was rolled back', rollback: undefined },
  // A rollback was asked for before BEGIN has succeeded.
  cancelling: { state: 'acquired', accepts: AFTERWARDS, refusal: 'was rolled back', rollback: undefined },
  rollingBack: { state: 'open', accepts: AFTERWARDS, refusal: 'was rolled back', rollback: undefined },
  committed: { state: 'committed', accepts: AT_ONCE, refusal: 'is committed', rollback: undefined },
  rolledBack: { state: 'rolled back', accepts: NONE, refusal: 'was rolled back', rollback: undefined },
  unknown: { state: 'unknown', accepts: NONE, refusal: 'is unknown', rollback: undefined },
} satisfies Record<PhaseName, Phase>;

/** The connection is lost, or leads to a server that takes nothing: then ROLLBACK fails for the same reason. */
const TAKES_NOTHING: ReadonlySet<string> = new Set(['AMBIT_TX_CONNECTION_LOST', 'AMBIT_TX_READ_ONLY']);

function takesNothing(error: unknown): boolean {
  return isTransactionError(error) && TAKES_NOTHING.has(error.code);
}

/** COMMIT or ROLLBACK is about to be sent, or the outcome is decided. */
type Progress = 'sending' | 'decided';

const oneTurn = Promise.resolve();

/**
 * The state machine of {@link PHASES}. It knows no scope.
 *
 * Invariants: the first call of `commit()` or `rollback()` causes `#sendOutcome()`, which runs once and is the only code that
 * sends COMMIT or ROLLBACK. It sends COMMIT only while no statement has failed and nobody has asked for a rollback. Once
 * COMMIT is sent, only the response of the database counts. `beforeCommit` callbacks run before the decision: as long as
 * they do the transaction is open, for statements and for a rollback.
 */
export class Completion {
  /** Made for the first callback: a transaction without any pays nothing. */
  callbacks: Callbacks | undefined = undefined;
  readonly #connection: IPooledConnection;
  readonly #queue: StatementQueue;
  readonly #settings: TransactionSettings;
  readonly #statements: Pick<ScopedConnection, 'failure'>;
  readonly #onProgress: (progress: Progress) => void;
  #phase: Phase = PHASES.acquired;
  /** The reason that `rollback()` was called with. */
  #reason: unknown = undefined;
  /** The error of a `beforeCommit` callback. */
  #thrown: Failure | undefined = undefined;
  #error: TransactionError | undefined = undefined;
  #broken: Error | undefined = undefined;

  constructor(
    connection: IPooledConnection,
    queue: StatementQueue,
    settings: TransactionSettings,
    statements: Pick<ScopedConnection, 'failure'>,
    onProgress: (progress: Progress) => void,
  ) {
    this.#connection = connection;
    this.#queue = queue;
    this.#settings = settings;
    this.#statements = statements;
    this.#onProgress = onProgress;
  }

  get state(): TransactionState {
    return this.#phase.state;
  }

  /** Why the transaction did not commit. */
  get error(): TransactionError | undefined {
    return this.#error;
  }

  /** Why it was rolled back, as the work threw it, for callbacks and disposers; undefined where it was committed. */
  get reason(): unknown {
    return this.#phase === PHASES.committed ? undefined : (this.#reason ?? this.#rejection);
  }

  /** For the function that `commit()` is awaited in, whose stack the error receives where no other code gave the reason. */
  throwUnlessCommitted(): void {
    if (this.#phase === PHASES.committed) return;
    const rejection = this.#rejection;
    const isMadeHere = this.#reason === undefined || this.#error?.code === 'AMBIT_TX_TIMEOUT';
    throw isMadeHere ? withCallersStack(rejection) : rejection;
  }

  /** The error of a `beforeCommit` callback is passed on as it is, like that of a run's work. */
  get #rejection(): unknown {
    return this.#thrown ? this.#thrown.error : (this.#error ?? this.refusal());
  }

  /** Why the connection may be broken and must not be used again. */
  get broken(): Error | undefined {
    return this.#broken;
  }

  /** Whether it is about to be decided: a rollback was asked for, or a commit, and nothing is left to do before that. */
  get isRequested(): boolean {
    // As long as it is not, there may be more to do before COMMIT.
    return this.#phase.accepts !== ALL;
  }

  /** Whether a callback of this kind can still be called. */
  accepts(kind: CallbackKind): boolean {
    return this.#phase.accepts.has(kind);
  }

  /** The error of every use after a commit or a rollback was asked for. */
  readonly refusal = (): TransactionError => {
    const { state, refusal } = this.#phase;
    const error = this.#error;
    if (this.callbacks?.isRunning) {
      const what = `The transaction is ${state}, and its callbacks are being called. To write in it, use beforeCommit(); to write afterwards, begin another transaction, with the scope around this one and { before: 'response' }, or with a scope of its own`;
      return new TransactionError('AMBIT_TX_FINISHED', what);
    }
    if (isAborted(error)) return abortedUse(`The transaction ${refusal}`, error.cause);
    const reason = this.#reason ?? error;
    const options = reason === undefined ? {} : { cause: reason };
    return new TransactionError('AMBIT_TX_FINISHED', `The transaction ${refusal}${because(reason)}`, options);
  };

  /** Sends BEGIN, as the first statement. `onSettled` is called once, also when the statement is abandoned. */
  begin(beginOptions: BeginOptions, onSettled: (failure?: Failure) => void): void {
    this.#phase = PHASES.beginning;
    let isSettled = false;
    const settle = (failure?: Failure): void => {
      if (isSettled) return;
      isSettled = true;
      this.#queue.leave();
      if (!failure && this.#phase === PHASES.beginning) this.#phase = PHASES.open;
      onSettled(failure);
    };
    void this.#queue.enter();
    try {
      const response = this.#connection.beginTransaction(beginOptions);
      this.#queue.unlessAbandoned(
        response,
        () => settle(),
        (error) => settle({ error }),
      );
    } catch (error) {
      settle({ error });
    }
  }

  /** When the outcome is decided, `onProgress` is called; `state` and `error` tell which. A second call changes nothing. */
  commit(): void {
    if (this.isRequested || this.#phase === PHASES.preparing) return;
    if (!this.callbacks?.prepares) return this.#startCommit();
    this.#phase = PHASES.preparing;
    void this.#nextTurn().then(() => this.#prepare(this.callbacks));
  }

  /** Before COMMIT is sent the outcome is then a rollback; after that only the response to COMMIT counts. */
  rollback(reason: unknown): void {
    const { rollback } = this.#phase;
    if (!rollback) return;
    const { isRequested } = this;
    this.#phase = PHASES[rollback];
    this.#reason = reason;
    this.#error = isTransactionError(reason) ? reason : this.refusal();
    this.#queue.clear(this.refusal);
    if (this.#queue.busy) this.#cancelSoon();
    if (!isRequested) void this.#nextTurn().then(() => this.#sendOutcome());
  }

  async #prepare(callbacks: Callbacks | undefined): Promise<void> {
    try {
      if (!this.#statements.failure) await callbacks?.prepare(() => this.isRequested);
    } catch (error) {
      if (!this.isRequested) this.#thrown = { error };
      return this.rollback(error);
    }
    if (!this.isRequested) this.#startCommit();
  }

  #startCommit(): void {
    this.#phase = PHASES.closing;
    this.#queue.close(this.refusal);
    void this.#nextTurn().then(() => this.#sendOutcome());
  }

  /** Always a turn later, so that a commit and a rollback of the same moment are a rollback. */
  #nextTurn(): Promise<void> {
    return this.#queue.busy ? this.#queue.idle() : oneTurn;
  }

  #sendOutcome(): void {
    if (this.#phase !== PHASES.closing) return this.#sendRollback();
    const { failure } = this.#statements;
    if (failure) {
      this.#phase = PHASES.rollingBack;
      this.#error = failedBefore(failure, 'The transaction was rolled back');
      return this.#sendRollback();
    }
    this.#phase = PHASES.committing;
    this.#send('COMMIT', (failed) => {
      if (!failed) this.#phase = PHASES.committed;
      else this.#failCommit(failed.error);
      this.#onProgress('decided');
    });
  }

  /** Nothing is stored where the database itself says so, otherwise nobody knows. */
  #failCommit(cause: unknown): void {
    if (saysNothingStored(cause)) {
      this.#phase = PHASES.rolledBack;
      this.#error = new TransactionError('AMBIT_TX_COMMIT_FAILED', `COMMIT failed${because(cause)}`, { cause });
    } else {
      this.#phase = PHASES.unknown;
      this.#error = new TransactionError('AMBIT_TX_OUTCOME_UNKNOWN', 'COMMIT was sent and got no response', { cause });
      this.#broken = this.#error;
    }
  }

  #sendRollback(): void {
    const settle = (): void => {
      this.#phase = PHASES.rolledBack;
      this.#onProgress('decided');
    };
    // Behind a statement that was abandoned ROLLBACK would only queue up.
    if (this.#phase === PHASES.cancelled || this.#queue.isAbandoned) return settle();
    this.#send('ROLLBACK', (failed) => {
      if (failed) {
        const error = new TransactionError('AMBIT_TX_ROLLBACK_FAILED', 'ROLLBACK failed', { cause: failed.error });
        this.#broken = error;
        // The failed statement has reported it, so the ROLLBACK that cannot be sent is no second failure.
        if (!takesNothing(this.#statements.failure?.error)) report(this.#settings, error);
      }
      settle();
    });
  }

  /** A rollback does not wait long for the statement in progress: it cancels the statement, and at last abandons it. */
  #cancelSoon(): void {
    const { clock, cancelAfterMs, endTimeoutMs } = this.#settings;
    const cancel = (): void => {
      // The request may reach the database late and cancel the next user's statement, so there must be no next user.
      this.#broken ??= new TransactionError('AMBIT_TX_CONNECTION_LOST', 'A statement was cancelled by the rollback');
      callSafely(
        () => this.#connection.cancel?.(),
        (cause) =>
          report(this.#settings, new TransactionError('AMBIT_TX_ROLLBACK_FAILED', 'cancel() failed', { cause })),
      );
    };
    const abandon = (): void => {
      const error = new TransactionError('AMBIT_TX_CONNECTION_LOST', 'A statement continued after it was cancelled');
      this.#broken = error;
      this.#queue.abandon(error);
    };
    const stopCancel = startTimer(clock, cancel, cancelAfterMs);
    const stopAbandon = startTimer(clock, abandon, cancelAfterMs + endTimeoutMs);
    void this.#queue.idle().then(() => {
      stopCancel();
      stopAbandon();
    });
  }

  /** `onSettled` is called once: with the response of the database, or when the time limit has passed. */
  #send(what: 'COMMIT' | 'ROLLBACK', onSettled: (failure?: Failure) => void): void {
    const connection = this.#connection;
    const { clock, endTimeoutMs } = this.#settings;
    this.#onProgress('sending');
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

/** Never throws: the transaction has completed, and its outcome stands. `broken` is why the connection must not be used again. */
export function returnToPool(
  connection: IPooledConnection,
  broken: Error | undefined,
  settings: TransactionSettings,
): void {
  callSafely(
    () => connection.release(broken),
    (cause) =>
      report(settings, new TransactionError('AMBIT_TX_SCOPE_FAILED', 'release() of the connection failed', { cause })),
  );
}

/** Calls a function of a foreign pool, which may throw, or return a promise that rejects: neither may crash the process. */
function callSafely(call: () => unknown, onFailure: (error: unknown) => void): void {
  try {
    const result = call();
    if (result !== undefined) Promise.resolve(result).catch(onFailure);
  } catch (error) {
    onFailure(error);
  }
}

/** Something that happens once. It creates a promise only where somebody waits for it. */
export class Milestone {
  #isReached = false;
  #promise: Promise<void> | undefined = undefined;
  #resolve: (() => void) | undefined = undefined;

  reach(): void {
    this.#isReached = true;
    this.#resolve?.();
  }

  reached(): Promise<void> {
    this.#promise ??= new Promise((resolve) => {
      if (this.#isReached) resolve();
      else this.#resolve = resolve;
    });
    return this.#promise;
  }
}

/** Notifies the work that its transaction cannot commit any more. It creates an `AbortSignal` only when somebody reads it. */
export class LostSignal {
  #error: TransactionError | undefined = undefined;
  #controller: AbortController | undefined = undefined;
  #listener: ((error: TransactionError) => void) | undefined = undefined;

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#error) this.#controller.abort(this.#error);
    }
    return this.#controller.signal;
  }

  /** One listener at a time, for much less than a signal costs. */
  listen(listener: (error: TransactionError) => void): void {
    this.#listener = listener;
    if (this.#error) listener(this.#error);
  }

  notify(error: TransactionError): void {
    this.#error = error;
    this.#controller?.abort(error);
    this.#listener?.(error);
  }
}
