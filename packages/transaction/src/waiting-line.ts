import { type Clock, startTimer } from './clock.js';
import { aborted, TransactionError } from './errors.js';

export interface EnterOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs: number;
}

/** Leaves the place; only the first call counts. */
export type Leave = () => void;

/** A fixed number of places, first come first served; nobody blocks the event loop while waiting. */
export class WaitingLine {
  readonly #places: number;
  readonly #clock: Clock;
  /** Insertion order is the order of arrival, and leaving from the middle is cheap. */
  readonly #waiting = new Map<object, { admit: () => void; refuse: (error: Error) => void }>();
  #taken = 0;
  #closed = false;
  #whenEmpty: (() => void)[] = [];

  constructor(places: number, clock: Clock) {
    this.#places = places;
    this.#clock = clock;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get taken(): number {
    return this.#taken;
  }

  async enter({ signal, timeoutMs }: EnterOptions): Promise<Leave> {
    if (this.#closed) throw closed();
    if (signal?.aborted) throw aborted(signal);
    if (this.#taken < this.#places) this.#taken += 1;
    else await this.#wait(signal, timeoutMs);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#passOn();
    };
  }

  /** Refuses whoever waits and whoever comes. */
  close(): void {
    this.#closed = true;
    for (const { refuse } of this.#waiting.values()) refuse(closed());
  }

  /** Resolves when nobody holds a place. */
  async empty(): Promise<void> {
    if (this.#taken > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }

  #wait(signal: AbortSignal | undefined, timeoutMs: number): Promise<void> {
    const ticket = {};
    return new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        this.#waiting.delete(ticket);
        callOff();
        signal?.removeEventListener('abort', onAbort);
      };
      const refuse = (error: Error): void => {
        stop();
        reject(error);
      };
      const admit = (): void => {
        stop();
        resolve();
      };
      const onAbort = (): void => refuse(signal ? aborted(signal) : closed());
      const callOff = startTimer(this.#clock, () => refuse(timedOut(timeoutMs, this.#places)), timeoutMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.set(ticket, { admit, refuse });
    });
  }

  #passOn(): void {
    const [next] = this.#waiting.values();
    if (next) return next.admit();
    this.#taken -= 1;
    if (this.#taken === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }
}

function closed(): TransactionError {
  return new TransactionError('AMBIT_TX_POOL_CLOSED', 'The pool is closed');
}

function timedOut(timeoutMs: number, places: number): TransactionError {
  const connections = places === 1 ? 'the one connection' : `any of the ${places} connections`;
  return new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', `Waited ${Math.round(timeoutMs)} ms for ${connections}`);
}
