import type { Clock } from '../core/clock.js';

/** The same numbers for the same seed, in [0, 1): what a failing seed needs to fail again. */
export function seededRandom(seed: number): () => number {
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

/** Time that passes only when `run()` says so: a minute of waiting takes no time, and every run is the same. */
export class SimulatedClock implements Clock {
  readonly random: () => number;
  readonly #timers = new Set<Timer>();
  #now = 0;

  constructor(random: () => number = seededRandom(1)) {
    this.random = random;
  }

  now(): number {
    return this.#now;
  }

  setTimer(fn: () => void, ms: number): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, ms), fn };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

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
