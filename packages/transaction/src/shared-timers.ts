import { AsyncResource } from 'node:async_hooks';
import { setTimeout } from 'node:timers';

/** Node's own, also while a test has put another clock in its place: what is shared with it would stand still afterwards. */
const now = performance.now.bind(performance);

/** A timer belongs to nobody's request, so what it calls must not run in the context of whoever came first. */
const outside = new AsyncResource('ambit.timer');

/** Node fires what is longer at once. */
const LONGEST_MS = 2 ** 31 - 1;

interface Pending {
  readonly at: number;
  readonly fn: () => void;
  earlier: Pending | undefined;
  later: Pending | undefined;
}

/**
 * Timers of one length, on one timer of Node's. Most timers of a transaction are called off at once, and one of Node's
 * for each cost as much as all the rest. A list linked through them, because a set leaves the garbage collector more to do.
 */
class SharedTimer {
  readonly #ms: number;
  /** In the order of their start, which is the order of their end. */
  #first: Pending | undefined = undefined;
  #last: Pending | undefined = undefined;
  #timer: NodeJS.Timeout | undefined = undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  start(fn: () => void): () => void {
    const pending: Pending = { at: now() + this.#ms, fn, earlier: this.#last, later: undefined };
    if (this.#last) this.#last.later = pending;
    else this.#first = pending;
    this.#last = pending;
    if (!this.#timer) this.#arm(this.#ms);
    else if (this.#first === pending) this.#timer.ref();
    return () => {
      this.#remove(pending);
      // It stays armed for the next one, and keeps no process alive meanwhile.
      if (!this.#first) this.#timer?.unref();
    };
  }

  #remove(pending: Pending): void {
    const { earlier, later } = pending;
    if (earlier) earlier.later = later;
    else if (this.#first === pending) this.#first = later;
    if (later) later.earlier = earlier;
    else if (this.#last === pending) this.#last = earlier;
    pending.earlier = pending.later = undefined;
  }

  #arm(ms: number): void {
    this.#timer = outside.runInAsyncScope(() => setTimeout(() => this.#fire(), Math.min(ms, LONGEST_MS)));
  }

  #fire(): void {
    try {
      // Node may be early by a fraction of a millisecond.
      const until = now() + 1;
      for (let due = this.#first; due && due.at <= until; due = this.#first) {
        this.#remove(due);
        due.fn();
      }
    } finally {
      if (this.#first) this.#arm(Math.max(1, this.#first.at - now()));
      else timers.delete(this.#ms);
    }
  }
}

const timers = new Map<number, SharedTimer>();

/** Calls `fn` after `ms`, as `setTimeout` does; what it returns calls it off. */
export function startSharedTimer(fn: () => void, ms: number): () => void {
  const whole = Math.max(1, Math.ceil(ms));
  let timer = timers.get(whole);
  if (!timer) {
    timer = new SharedTimer(whole);
    timers.set(whole, timer);
  }
  return timer.start(fn);
}
