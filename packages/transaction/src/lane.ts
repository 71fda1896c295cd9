/**
 * One statement at a time, in the order asked. A driver may queue by itself, but only a queue of our own can be
 * emptied when the transaction ends, so that nothing of it runs for the next borrower.
 */
export class Lane {
  readonly #waiting: (() => void)[] = [];
  #busy = false;
  #whenIdle: (() => void)[] = [];
  #giveUp: ((error: Error) => void) | undefined;
  /** Set once new statements are refused. */
  #refuseNew: (() => Error) | undefined;
  /** Set once those that wait for their turn are refused too. */
  #refuseAll: (() => Error) | undefined;

  get busy(): boolean {
    return this.#busy;
  }

  async run<T>(statement: () => Promise<T>): Promise<T> {
    if (this.#refuseNew) throw this.#refuseNew();
    if (this.#busy) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#busy = true;
    try {
      if (this.#refuseAll) throw this.#refuseAll();
      return await this.#orGiveUp(statement);
    } finally {
      this.#next();
    }
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
    this.#giveUp?.(error);
  }

  /** Resolves when no statement runs or waits. */
  idle(): Promise<void> {
    return this.#busy ? new Promise((resolve) => this.#whenIdle.push(resolve)) : Promise.resolve();
  }

  #orGiveUp<T>(statement: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#giveUp = reject;
      statement().then(resolve, reject);
    });
  }

  #next(): void {
    this.#giveUp = undefined;
    const turn = this.#waiting.shift();
    if (turn) return turn();
    this.#busy = false;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}
