import type { AcquireOptions, IsolationLevel } from './contract.js';
import type { Settings } from './options.js';

/** Why somebody gave up; an `AbortSignal` that has fired says it, too. */
export interface GivenUp {
  readonly reason: unknown;
}

/**
 * What a pool is asked for by somebody who may give it up. The signal is made when a pool looks at it, which ours do not:
 * on Node 20 a signal costs more than all the rest of a transaction.
 */
export class Acquisition implements AcquireOptions {
  declare readonly isolation?: IsolationLevel;
  declare readonly readOnly?: boolean;
  declare readonly timeoutMs?: number;
  readonly #outer: AbortSignal | undefined;
  #controller: AbortController | undefined = undefined;
  #listener: ((why: GivenUp) => void) | undefined = undefined;
  #whenGivenUp: ((why: GivenUp) => void) | undefined = undefined;
  #givenUp: GivenUp | undefined = undefined;
  #unfollow: (() => void) | undefined = undefined;

  constructor({ terms: { isolation, readOnly }, acquireTimeoutMs, signal }: Settings) {
    if (isolation !== undefined) this.isolation = isolation;
    if (readOnly !== undefined) this.readOnly = readOnly;
    if (acquireTimeoutMs !== undefined) this.timeoutMs = acquireTimeoutMs;
    this.#outer = signal;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.givenUp) this.#controller.abort(this.givenUp.reason);
      this.#follow();
    }
    return this.#controller.signal;
  }

  get givenUp(): GivenUp | undefined {
    // Nobody may have listened when the signal fired.
    return this.#givenUp ?? (this.#outer?.aborted ? this.#outer : undefined);
  }

  giveUp(reason: unknown): void {
    this.#givenUp ??= { reason };
    this.#controller?.abort(reason);
    this.#listener?.(this.#givenUp);
    this.#whenGivenUp?.(this.#givenUp);
  }

  /** One listener at a time, which is all that a pool needs. */
  listen(listener: ((why: GivenUp) => void) | undefined): void {
    this.#listener = listener;
    if (listener) this.#follow();
  }

  /** Calls `fn` too when it is given up, whether the pool listens or not. */
  whenGivenUp(fn: (why: GivenUp) => void): void {
    this.#whenGivenUp = fn;
    this.#follow();
    if (this.givenUp) fn(this.givenUp);
  }

  /** The pool has answered. */
  over(): void {
    this.#whenGivenUp = undefined;
    this.#unfollow?.();
  }

  #follow(): void {
    const outer = this.#outer;
    if (!outer || this.#unfollow) return;
    const onAbort = (): void => this.giveUp(outer.reason);
    outer.addEventListener('abort', onAbort, { once: true });
    this.#unfollow = () => outer.removeEventListener('abort', onAbort);
  }
}

/** Why it was given up already, if it was. */
export function givenUp(options: AcquireOptions): GivenUp | undefined {
  if (options instanceof Acquisition) return options.givenUp;
  return options.signal?.aborted ? options.signal : undefined;
}

/** Calls `listener` when it is given up, until the function given back is called. */
export function onGivenUp(options: AcquireOptions, listener: (why: GivenUp) => void): () => void {
  if (options instanceof Acquisition) {
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
