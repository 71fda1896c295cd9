/**
 * One statement at a time, in the order asked. A driver may queue by itself, but only a queue of our own can be
 * emptied when the transaction ends, so that nothing of it runs for the next borrower.
 */
export class Lane {
  readonly #waiting: (() => void)[] = [];
  #busy = false;
  #whenIdle: (() => void)[] = [];
  /** Counts the statements; one that was abandoned has lost its turn. */
  #turn = 0;
  #giveUp: ((error: Error) => void) | undefined = undefined;
  /** Set once new statements are refused. */
  #refuseNew: (() => Error) | undefined = undefined;
  /** Set once those that wait for their turn are refused too. */
  #refuseAll: (() => Error) | undefined = undefined;
  readonly #canAbandon: boolean;

  /** Being able to stop waiting costs a promise for each statement. */
  constructor({ canAbandon = false } = {}) {
    this.#canAbandon = canAbandon;
  }

  get busy(): boolean {
    return this.#busy;
  }

  run<T>(statement: () => Promise<T>): Promise<T> {
    if (this.#refuseNew) return Promise.reject(this.#refuseNew());
    if (this.#busy) return this.#inTurn(statement);
    this.#busy = true;
    return this.#start(statement);
  }

  /** Refuses new statements; those already asked for still run. */
  seal(refusal: () => Error): void {
    this.#refuseNew ??= refusal;
  }

  /** Refuses every statement that has not started. */
  drop(refusal: () => Error): void {
    this.#refuseNew = refusal;
    this.#refuseAll = refusal;
  }

  /** Stops waiting for the statement under way: its caller gets `error`, whatever becomes of it. */
  abandon(error: Error): void {
    if (!this.#giveUp) return;
    this.#giveUp(error);
    this.#turn += 1;
    this.#next();
  }

  /** Resolves when no statement runs or waits. */
  idle(): Promise<void> {
    return this.#busy ? new Promise((resolve) => this.#whenIdle.push(resolve)) : Promise.resolve();
  }

  async #inTurn<T>(statement: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (!this.#refuseAll) return this.#start(statement);
    this.#next();
    throw this.#refuseAll();
  }

  #start<T>(statement: () => Promise<T>): Promise<T> {
    this.#turn += 1;
    const running = this.#finish(statement, this.#turn);
    if (!this.#canAbandon) return running;
    return new Promise<T>((resolve, reject) => {
      this.#giveUp = reject;
      running.then(resolve, reject);
    });
  }

  /** Awaits where a callback would do: so the stack of an error shows who asked for the statement. */
  async #finish<T>(statement: () => Promise<T>, turn: number): Promise<T> {
    try {
      return await statement();
    } finally {
      if (turn === this.#turn) this.#next();
    }
  }

  #next(): void {
    this.#giveUp = undefined;
    const turn = this.#waiting.shift();
    if (turn) return turn();
    this.#busy = false;
    if (this.#whenIdle.length > 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}
