import { startTimer } from '../core/clock.js';
import type { AcquireOptions, IDatabasePool, IPooledConnection, IsolationLevel } from '../core/contract.js';
import { aborted, report, TransactionError } from '../core/errors.js';
import type { TransactionSettings } from '../core/options.js';

/** Why a request was cancelled; an `AbortSignal` that has fired says it, too. */
export interface Cancelled {
  readonly reason: unknown;
}

type Listener = (why: Cancelled) => void;

/**
 * A request for a connection that can be cancelled. It creates an `AbortSignal` only when a pool reads it, which ours do
 * not: on Node 20 a signal costs more than the rest of a transaction.
 */
export class AcquireRequest implements AcquireOptions {
  declare readonly isolation?: IsolationLevel;
  declare readonly readOnly?: boolean;
  declare readonly timeoutMs?: number;
  readonly #outer: AbortSignal | undefined;
  #controller: AbortController | undefined = undefined;
  /** The pool's. */
  #listener: Listener | undefined = undefined;
  /** The transaction's, called whether the pool listens or not. */
  #onCancelled: Listener | undefined = undefined;
  #cancelled: Cancelled | undefined = undefined;
  #unfollow: (() => void) | undefined = undefined;

  constructor(settings: Pick<TransactionSettings, 'terms' | 'acquireTimeoutMs' | 'signal'>) {
    const { terms, acquireTimeoutMs, signal } = settings;
    const { isolation, readOnly } = terms;
    if (isolation !== undefined) this.isolation = isolation;
    if (readOnly !== undefined) this.readOnly = readOnly;
    if (acquireTimeoutMs !== undefined) this.timeoutMs = acquireTimeoutMs;
    this.#outer = signal ?? undefined;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.cancelled) this.#controller.abort(this.cancelled.reason);
      this.#follow();
    }
    return this.#controller.signal;
  }

  get cancelled(): Cancelled | undefined {
    // The signal may have fired before anyone listened.
    return this.#cancelled ?? (this.#outer?.aborted ? this.#outer : undefined);
  }

  cancel(reason: unknown): void {
    this.#cancelled ??= { reason };
    this.#controller?.abort(reason);
    this.#listener?.(this.#cancelled);
    this.#onCancelled?.(this.#cancelled);
  }

  /** One listener at a time, which is all that a pool needs. */
  listen(listener: Listener | undefined): void {
    this.#listener = listener;
    if (listener) this.#follow();
  }

  onCancelled(listener: Listener): void {
    this.#onCancelled = listener;
    this.#follow();
    if (this.cancelled) listener(this.cancelled);
  }

  /** The pool has settled the request. */
  close(): void {
    this.#onCancelled = undefined;
    this.#unfollow?.();
  }

  #follow(): void {
    const outer = this.#outer;
    if (!outer || this.#unfollow) return;
    const onAbort = (): void => this.cancel(outer.reason);
    outer.addEventListener('abort', onAbort, { once: true });
    this.#unfollow = () => outer.removeEventListener('abort', onAbort);
  }
}

/** Why the request was cancelled already, if it was. */
export function cancelledBy(options: AcquireOptions): Cancelled | undefined {
  if (options instanceof AcquireRequest) return options.cancelled;
  return options.signal?.aborted ? options.signal : undefined;
}

/** Calls `listener` when the request is cancelled, until the function returned is called. */
export function onCancelled(options: AcquireOptions, listener: Listener): () => void {
  if (options instanceof AcquireRequest) {
    options.listen(listener);
    return () => options.listen(undefined);
  }
  const { signal } = options;
  const onAbort = (): void => {
    if (signal) listener(signal);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  return () => signal?.removeEventListener('abort', onAbort);
}

/** Settles as `promise` does, or rejects when the request is cancelled. The work behind the promise continues. */
export function unlessCancelled<T>(promise: Promise<T>, options: AcquireOptions): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stopListening = onCancelled(options, (why) => reject(aborted(why)));
    promise.then(resolve, reject).finally(stopListening);
  });
}

const oneTurn = Promise.resolve();

interface Acquiring {
  readonly settings: TransactionSettings;
  readonly request: AcquireRequest;
  readonly onConnection: (connection: IPooledConnection) => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Asks the pool for a connection, and calls one of the two functions once. The pool receives the time limit and the
 * signal, and has `cancelAfterMs` longer to keep them by itself. After that the transaction stops waiting; a connection
 * that the pool gives later is released at once.
 */
export function acquireConnection(pool: IDatabasePool, acquiring: Acquiring): void {
  const { settings, request, onConnection, onFailure } = acquiring;
  let isSettled = false;
  let stopTimer: (() => void) | undefined;

  function settle(): void {
    isSettled = true;
    stopTimer?.();
    request.close();
  }

  function fail(error: unknown): void {
    if (isSettled) return;
    settle();
    onFailure(error);
  }

  function receive(connection: IPooledConnection): void {
    if (isSettled) return release(connection, undefined, settings);
    settle();
    onConnection(connection);
  }

  function limitWait(): void {
    const { clock, acquireTimeoutMs, timeoutMs, cancelAfterMs } = settings;
    const limitMs = acquireTimeoutMs ?? timeoutMs;
    const timeOut = (): void => {
      const detail = `The pool gave no connection within ${Math.round(limitMs)} ms`;
      const error = new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', detail);
      fail(error);
      request.cancel(error);
    };
    stopTimer = startTimer(clock, timeOut, limitMs + cancelAfterMs);
    request.onCancelled((why) => {
      stopTimer?.();
      stopTimer = startTimer(clock, () => fail(aborted(why)), cancelAfterMs);
    });
  }

  try {
    Promise.resolve(pool.getConnection(request)).then(receive, fail);
  } catch (error) {
    return fail(error);
  }
  // A pool with a free connection has responded by then, and needs no timer.
  void oneTurn.then(() => {
    if (!isSettled) limitWait();
  });
}

/** Never throws: the transaction has completed, and its outcome stands. `broken` is why the connection must not be used again. */
export function release(connection: IPooledConnection, broken: Error | undefined, settings: TransactionSettings): void {
  callSafely(
    () => connection.release(broken),
    (cause) =>
      report(settings, new TransactionError('AMBIT_TX_SCOPE_FAILED', 'release() of the connection failed', { cause })),
  );
}

/** Calls a function of a foreign pool, which may throw, or return a promise that rejects: neither may crash the process. */
export function callSafely(call: () => unknown, onFailure: (error: unknown) => void): void {
  try {
    const result = call();
    if (result !== undefined) Promise.resolve(result).catch(onFailure);
  } catch (error) {
    onFailure(error);
  }
}
