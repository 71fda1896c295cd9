import { AsyncResource } from 'node:async_hooks';
import { clearTimeout, setTimeout } from 'node:timers';
import { type Linked, LinkedList } from './linked-list.js';

/** Time and chance, so that a test can control both. */
export interface Clock {
  /**
   * The present time.
   *
   * @returns milliseconds since a fixed moment; like `performance.now()` it never decreases
   */
  now(): number;
  /**
   * Calls a function once, later.
   *
   * @param fn - the function
   * @param ms - after how many milliseconds
   * @returns a function that cancels the timer
   */
  setTimer(fn: () => void, ms: number): () => void;
  /**
   * A random number, for the jitter of retries.
   *
   * @returns a number in [0, 1)
   */
  random(): number;
}

/** Node's own, also while a test replaces the clock: timers shared with the test would stop afterwards. */
const now = performance.now.bind(performance);

/** A search for open handles, as that of `jest --detectOpenHandles`, asks whether the timer keeps the process alive. */
class Context extends AsyncResource {
  hasRef(): boolean {
    return false;
  }
}

/** A timer is shared by requests, so its callbacks must not run in the async context of the first of them. */
const outside = new Context('ambit.timer');

/** Node fires longer timers at once. */
export const LONGEST_MS = 2 ** 31 - 1;

interface Pending extends Linked<Pending> {
  readonly at: number;
  readonly fn: () => void;
}

/**
 * Timers of one length, on one timer of Node's. Most timers of a transaction are cancelled soon, and a Node timer for each
 * would cost as much as the rest of the transaction.
 */
class SharedTimer {
  readonly #ms: number;
  readonly #onUnused: () => void;
  /** In the order of their start, which is the order in which they fire. */
  readonly #pending = new LinkedList<Pending>();
  #timer: NodeJS.Timeout | undefined = undefined;
  /** Since it last fired. */
  #used = false;

  constructor(ms: number, onUnused: () => void) {
    this.#ms = ms;
    this.#onUnused = onUnused;
  }

  start(fn: () => void): () => void {
    const pending: Pending = { at: now() + this.#ms, fn, earlier: undefined, later: undefined };
    this.#pending.add(pending);
    this.#used = true;
    if (!this.#timer) this.#arm(this.#ms);
    else if (this.#pending.size === 1) this.#timer.ref();
    return () => {
      this.#pending.remove(pending);
      // It stays armed for the next one, and does not keep the process alive meanwhile.
      if (this.#pending.size === 0) this.#timer?.unref();
    };
  }

  #arm(ms: number): NodeJS.Timeout {
    return (this.#timer = outside.runInAsyncScope(() => setTimeout(() => this.#fire(), Math.min(ms, LONGEST_MS))));
  }

  #fire(): void {
    try {
      // Node may be early by a fraction of a millisecond.
      const until = now() + 1;
      for (let due = this.#pending.first; due && due.at <= until; due = this.#pending.first) {
        this.#pending.remove(due);
        due.fn();
      }
    } finally {
      const { first } = this.#pending;
      if (first) this.#arm(Math.max(1, first.at - now()));
      else this.#rest();
    }
  }

  /** A length in use will be used again: a new timer on a busy path makes V8 discard its optimised code for that path. */
  #rest(): void {
    if (this.#used) this.#arm(this.#ms).unref();
    else this.#onUnused();
    this.#used = false;
  }
}

function clockOfNode(): Clock {
  const timers = new Map<number, SharedTimer>();
  return {
    now: () => performance.now(),
    setTimer: (fn, ms) => {
      const whole = Math.max(1, Math.ceil(ms));
      let timer = timers.get(whole);
      if (!timer) {
        timer = new SharedTimer(whole, () => timers.delete(whole));
        timers.set(whole, timer);
      }
      return timer.start(fn);
    },
    random: () => Math.random(),
  };
}

/** A timer of a Worker belongs to the request that set it, and never fires once that has finished. */
function clockOfWorkers(): Clock {
  return {
    ...clockOfNode(),
    setTimer: (fn, ms) => {
      const timer = setTimeout(fn, ms);
      return () => clearTimeout(timer);
    },
  };
}

const { navigator } = globalThis as { navigator?: { readonly userAgent?: string } };

/** The clock where the option `clock` is not given. */
export const systemClock: Clock = navigator?.userAgent === 'Cloudflare-Workers' ? clockOfWorkers() : clockOfNode();

const nothing = (): void => undefined;

/** For work that is done a turn later, at less than `queueMicrotask()` costs. */
export const TURN = Promise.resolve();

/** A timer that may be switched off: `Infinity`, and every delay that Node cannot wait for, means never. */
export function startTimer(clock: Clock, fn: () => void, ms: number): () => void {
  return ms > LONGEST_MS ? nothing : clock.setTimer(fn, ms);
}

/** An error that was thrown, in an object because `undefined` can be thrown too. */
export interface Failure {
  readonly error: unknown;
}

/**
 * Calls `onSettled` once, when `promise` settles or after `ms`, with the failure if there is one. A callback instead of a
 * promise, because on the path of every transaction a promise that is awaited costs more than the timer. A promise that has settled
 * by the next turn needs no timer.
 */
export function settleWithin(
  clock: Clock,
  ms: number,
  promise: PromiseLike<unknown>,
  late: () => Error,
  onSettled: (failure?: Failure) => void,
): void {
  let isSettled = false;
  let stopTimer = nothing;
  const settle = (failure?: Failure): void => {
    if (isSettled) return;
    isSettled = true;
    stopTimer();
    onSettled(failure);
  };
  promise.then(
    () => settle(),
    (error: unknown) => settle({ error }),
  );
  void TURN.then(() => {
    if (!isSettled) stopTimer = startTimer(clock, () => settle({ error: late() }), ms);
  });
}

/** Settles as `promise` does, or rejects with `late()` after `ms`. The work behind the promise continues. */
export async function within<T>(clock: Clock, ms: number, promise: Promise<T>, late: () => Error): Promise<T> {
  const failure = await new Promise<Failure | undefined>((resolve) => {
    settleWithin(clock, ms, promise, late, resolve);
  });
  if (failure) throw failure.error;
  return promise;
}
