import { type Clock, startTimer } from './clock.js';
import { TransactionError } from './errors.js';

/**
 * The time that all attempts of a run have together, the waits for connections included. One timer for all of it, and of
 * the same length for every run, because timers of one length are shared.
 */
export class TimeLimit {
  /** Calls it off. */
  readonly stop: () => void;
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #deadline: number;
  #passed: TransactionError | undefined = undefined;
  #tell: ((error: TransactionError) => void) | undefined = undefined;

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

  /** Tells whoever is at work now, also where the time is up already. */
  onPassed(tell: (error: TransactionError) => void): void {
    this.#tell = tell;
    if (this.#passed) tell(this.#passed);
  }

  tooLate(cause?: unknown): TransactionError {
    const what = `No attempt succeeded within ${Math.round(this.#ms)} ms`;
    return new TransactionError('AMBIT_TX_TIMEOUT', what, cause === undefined ? {} : { cause });
  }

  #pass(): void {
    this.#passed = this.tooLate();
    this.#tell?.(this.#passed);
  }
}
