import type { AcquireOptions, IsolationLevel } from '../core/contract.js';
import type { Settings } from '../core/options.js';

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

  constructor({ terms: { isolation, readOnly }, acquireTimeoutMs, signal }: Settings) {
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
