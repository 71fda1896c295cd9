import { type Clock, startTimer } from '../core/clock.js';
import { TransactionError } from '../core/errors.js';

/**
 * The time that all attempts of a run have together, including the waits for connections. It has one timer for all of them,
 * of the same length for every run, because timers of one length are shared.
 */
export class TimeLimit {
  /** Cancels the timer. */
  readonly stop: () => void;
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #deadline: number;
  #passed: TransactionError | undefined = undefined;
  #listener: ((error: TransactionError) => void) | undefined = undefined;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
    this.#deadline = clock.now() + ms;
    this.stop = startTimer(clock, () => this.#pass(), ms);
  }

  /** Set once the time is up. */
  get passed(): TransactionError | undefined {
    return this.#passed;
  }

  /** Whether more than so much is left. */
  allows(ms: number): boolean {
    return this.#clock.now() + ms < this.#deadline;
  }

  /** Calls the listener of the current attempt when the time is up, or at once if it is. */
  onPassed(listener: (error: TransactionError) => void): void {
    this.#listener = listener;
    if (this.#passed) listener(this.#passed);
  }

  timedOut(cause?: unknown): TransactionError {
    const what = `No attempt succeeded within ${Math.round(this.#ms)} ms`;
    return new TransactionError('AMBIT_TX_TIMEOUT', what, cause === undefined ? {} : { cause });
  }

  #pass(): void {
    this.#passed = this.timedOut();
    this.#listener?.(this.#passed);
  }
}
