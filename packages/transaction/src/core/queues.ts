/** An item of a list knows its neighbours, so it is in one list at a time. */
export interface Linked<T> {
  earlier: T | undefined;
  later: T | undefined;
}

/**
 * Items in the order of arrival; one is removed from the middle as cheaply as from either side. For items that come and go
 * with every request, instead of a Map or Set: these grow a new table whenever removed entries fill the old one, and the
 * old table keeps its entries and the new table from being collected while they are young.
 */
export class LinkedList<T extends Linked<T>> {
  #first: T | undefined = undefined;
  #last: T | undefined = undefined;
  #size = 0;

  get first(): T | undefined {
    return this.#first;
  }

  get size(): number {
    return this.#size;
  }

  add(item: T): void {
    item.earlier = this.#last;
    if (this.#last) this.#last.later = item;
    else this.#first = item;
    this.#last = item;
    this.#size += 1;
  }

  /** Does nothing with an item that was removed already. */
  remove(item: T): void {
    const { earlier, later } = item;
    if (!earlier && this.#first !== item) return;
    if (earlier) earlier.later = later;
    else this.#first = later;
    if (later) later.earlier = earlier;
    else this.#last = earlier;
    item.earlier = item.later = undefined;
    this.#size -= 1;
  }
}

/**
 * One statement at a time, in the order asked. A driver may queue by itself, but only a queue of our own can be
 * emptied when the transaction completes, so that none of its statements runs for the next user of the connection.
 *
 * Every `enter()` needs a `leave()`. A single function that runs a callback would create one more promise for every
 * statement, and would hide the caller's function from the stack of an error.
 */
export class StatementQueue {
  #waiting: (() => void)[] | undefined = undefined;
  #busy = false;
  #whenIdle: (() => void)[] | undefined = undefined;
  #abandon: ((error: Error) => void) | undefined = undefined;
  #isAbandoned = false;
  /** Set once new statements are refused. */
  #refuseNew: (() => Error) | undefined = undefined;
  /** Set once the statements that wait for their turn are refused too. */
  #refuseAll: (() => Error) | undefined = undefined;

  get busy(): boolean {
    return this.#busy;
  }

  /** A statement may still run that nobody waits for any more. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** Takes the turn, and returns a promise only where there is something to wait for. Throws or rejects where statements are refused. */
  enter(): Promise<void> | undefined {
    if (this.#refuseNew) throw this.#refuseNew();
    if (this.#busy) return this.#turn();
    this.#busy = true;
    return undefined;
  }

  leave(): void {
    this.#abandon = undefined;
    const next = this.#waiting?.shift();
    if (next) return next();
    this.#busy = false;
    if (this.#whenIdle) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** Passes on the result of the statement in progress, or the error of `abandon()` if that comes first. */
  unlessAbandoned<T>(result: PromiseLike<T>, resolve: (value: T) => void, reject: (error: unknown) => void): void {
    this.#abandon = reject;
    result.then(resolve, reject);
  }

  /** Refuses new statements; those that wait still run. */
  close(refusal: () => Error): void {
    this.#refuseNew ??= refusal;
  }

  /** Refuses every statement that has not started. */
  clear(refusal: () => Error): void {
    this.#refuseNew ??= refusal;
    this.#refuseAll ??= refusal;
  }

  /** Stops waiting for the statement in progress: its caller receives `error` and leaves, although the statement may still run. */
  abandon(error: Error): void {
    this.#isAbandoned = true;
    this.#abandon?.(error);
  }

  /** Resolves when no statement runs or waits. */
  idle(): Promise<void> {
    return new Promise((resolve) => (this.#busy ? (this.#whenIdle ??= []).push(resolve) : resolve()));
  }

  async #turn(): Promise<void> {
    await new Promise<void>((resolve) => (this.#waiting ??= []).push(resolve));
    if (!this.#refuseAll) return;
    this.leave();
    throw this.#refuseAll();
  }
}
