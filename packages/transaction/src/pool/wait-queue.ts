import { cancelledBy, onCancelled } from './checkout.js';
import { type Clock, startTimer } from '../core/clock.js';
import type { AcquireOptions } from '../core/contract.js';
import { aborted, TransactionError } from '../core/errors.js';
import { type Linked, LinkedList } from '../core/linked-list.js';

/** Leaves the place; only the first call counts. */
export type Leave = () => void;

interface Ticket extends Linked<Ticket> {
  readonly admit: () => void;
  readonly refuse: (error: Error) => void;
}

export interface WaitQueueOptions {
  readonly clock: Clock;
  /** How many may wait at the same time. */
  readonly maxWaiting: number;
  /** What the callers wait for, in the message of the time-out. */
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
