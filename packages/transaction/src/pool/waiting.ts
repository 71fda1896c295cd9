import { type Clock, startTimer } from '../clock.js';
import type { AcquireOptions, BeginOptions, IsolationLevel } from '../contract.js';
import { aborted, TransactionError } from '../errors.js';
import { type Linked, LinkedList } from '../linked-list.js';

/** Why a request was cancelled; an `AbortSignal` that has fired says it, too. */
interface Cancelled {
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

  constructor({ isolation, readOnly }: BeginOptions, timeoutMs?: number, signal?: AbortSignal) {
    if (isolation !== undefined) this.isolation = isolation;
    if (readOnly !== undefined) this.readOnly = readOnly;
    if (timeoutMs !== undefined) this.timeoutMs = timeoutMs;
    // A caller without types may pass null.
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

  /** The pool has settled the request. Returns why it was cancelled, if it was. */
  close(): Cancelled | undefined {
    this.#onCancelled = undefined;
    this.#unfollow?.();
    return this.cancelled;
  }

  #follow(): void {
    const outer = this.#outer;
    if (!outer || this.#unfollow) return;
    const onAbort = (): void => this.cancel(outer.reason);
    outer.addEventListener('abort', onAbort, { once: true });
    this.#unfollow = () => outer.removeEventListener('abort', onAbort);
  }
}

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

/** Leaves the place; only the first call counts. */
export type Leave = () => void;

interface Ticket extends Linked<Ticket> {
  readonly admit: () => void;
  readonly refuse: (error: Error) => void;
}

interface WaitQueueOptions {
  readonly clock: Clock;
  /** How many may wait at the same time. */
  readonly maxWaiting: number;
  /** The name of what callers wait for, in the message of the time-out. */
  readonly name?: string;
}

/** The queue for the connections of a pool: a fixed number of places, first come first served. */
export class WaitQueue {
  readonly #places: number;
  readonly #clock: Clock;
  readonly #maxWaiting: number;
  readonly #name: string;
  readonly #waiting = new LinkedList<Ticket>();
  #taken = 0;
  #closed = false;
  #whenEmpty: (() => void)[] = [];

  constructor(places: number, { clock, maxWaiting, name = nameOf(places) }: WaitQueueOptions) {
    this.#places = places;
    this.#clock = clock;
    this.#maxWaiting = maxWaiting;
    this.#name = name;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Takes a place, at once where there is one. */
  enter(options: AcquireOptions | undefined, timeoutMs: number): Leave | Promise<Leave> {
    if (this.#closed) throw closed();
    const why = options && cancelledBy(options);
    if (why) throw aborted(why);
    if (this.#taken >= this.#places) return this.#wait(options, timeoutMs);
    this.#taken += 1;
    return this.#place();
  }

  /** Refuses all waiting and all new callers. */
  close(): void {
    this.#closed = true;
    for (let next = this.#waiting.first; next; next = this.#waiting.first) next.refuse(closed());
  }

  /** Resolves when nobody holds a place. */
  async empty(): Promise<void> {
    if (this.#taken > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }

  #place(): Leave {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#passOn();
    };
  }

  #wait(options: AcquireOptions = {}, timeoutMs: number): Promise<Leave> {
    if (this.#waiting.size >= this.#maxWaiting) throw full(this.#maxWaiting);
    return new Promise<Leave>((resolve, reject) => {
      const stop = (): void => {
        this.#waiting.remove(ticket);
        stopTimer();
        stopListening();
      };
      const refuse = (error: Error): void => {
        stop();
        reject(error);
      };
      const admit = (): void => {
        stop();
        resolve(this.#place());
      };
      const ticket: Ticket = { admit, refuse, earlier: undefined, later: undefined };
      const stopTimer = startTimer(this.#clock, () => refuse(timedOut(timeoutMs, this.#name)), timeoutMs);
      const stopListening = onCancelled(options, (why) => refuse(aborted(why)));
      this.#waiting.add(ticket);
    });
  }

  #passOn(): void {
    const next = this.#waiting.first;
    if (next) return next.admit();
    this.#taken -= 1;
    if (this.#taken === 0 && this.#whenEmpty.length > 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }
}

function closed(): TransactionError {
  return new TransactionError('AMBIT_TX_POOL_CLOSED', 'The pool is closed');
}

function full(maxWaiting: number): TransactionError {
  return new TransactionError('AMBIT_TX_POOL_FULL', `${maxWaiting} callers already wait for a connection`);
}

function nameOf(places: number): string {
  return places === 1 ? 'the one connection' : `any of the ${places} connections`;
}

function timedOut(timeoutMs: number, name: string): TransactionError {
  return new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', `Waited ${Math.round(timeoutMs)} ms for ${name}`);
}
