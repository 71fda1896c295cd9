import type { Clock } from '../clock.js';

/** Numbers in [0, 1) that are the same for the same seed, so that a test that failed can fail again. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Timer {
  readonly at: number;
  readonly fn: () => void;
}

/**
 * Time that passes only when `run()` says so: a minute of waiting takes no time, and every run is the same.
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { runInTransaction } from '@ambit/transaction';
 * import { FakePool, SimulatedClock } from '@ambit/transaction/testing';
 *
 * const clock = new SimulatedClock();
 * const pool = new FakePool({ clock });
 * const app = new Container();
 * app.register('IDatabasePool', () => pool);
 * const slow = runInTransaction(app, () => clock.sleep(60_000), { clock, timeoutMs: 1000 });
 * const outcome = slow.then(() => 'committed', () => 'timed out');
 * await clock.run();
 * console.log(await outcome); // timed out
 * ```
 *
 * @example
 * ```ts
 * // Faults by chance, the same for the same seed.
 * import { FakePool, SimulatedClock } from '@ambit/transaction/testing';
 *
 * const clock = new SimulatedClock(42);
 * const pool = new FakePool({
 *   clock,
 *   faultAt: () => ({ ms: 10 * clock.random(), kind: clock.random() < 0.1 ? 'lost' : 'none' }),
 * });
 * ```
 */
export class SimulatedClock implements Clock {
  /** Numbers in [0, 1), the same for the same seed. */
  readonly random: () => number;
  readonly #timers = new Set<Timer>();
  #now = 0;

  /** @param random - the seed of the numbers that `random()` gives, or a function that gives them. Default: the seed 1 */
  constructor(random: number | (() => number) = 1) {
    this.random = typeof random === 'number' ? seededRandom(random) : random;
  }

  now(): number {
    return this.#now;
  }

  setTimer(fn: () => void, ms: number): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, ms), fn };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /**
   * Waits, in the time of this clock.
   *
   * @param ms - for how many milliseconds
   */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.setTimer(resolve, ms));
  }

  /** Lets everything happen, earliest first, until nothing is left to happen. */
  async run(): Promise<void> {
    await settled();
    for (let next = this.#earliest(); next; next = this.#earliest()) {
      this.#timers.delete(next);
      this.#now = next.at;
      next.fn();
      await settled();
    }
  }

  #earliest(): Timer | undefined {
    let earliest: Timer | undefined;
    for (const timer of this.#timers) if (!earliest || timer.at < earliest.at) earliest = timer;
    return earliest;
  }
}

/** Resolves when every promise reaction that can run has run. */
function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
