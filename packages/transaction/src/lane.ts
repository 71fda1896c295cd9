/**
 * One statement at a time, in the order asked. A driver may queue by itself, but only a queue of our own can be
 * emptied when the transaction ends, so that nothing of it runs for the next borrower.
 *
 * Whoever enters must leave. These are two calls, rather than one that runs what it is given, because each function in
 * between would make a promise more for every statement.
 */
export class Lane {
  readonly #waiting: (() => void)[] = [];
  #busy = false;
  #whenIdle: (() => void)[] = [];
  #giveUp: ((error: Error) => void) | undefined = undefined;
  /** Set once new statements are refused. */
  #refuseNew: (() => Error) | undefined = undefined;
  /** Set once those that wait for their turn are refused too. */
  #refuseAll: (() => Error) | undefined = undefined;

  get busy(): boolean {
    return this.#busy;
  }

  /** Takes the lane; nothing is returned where there is nothing to wait for. Throws or rejects where it is refused. */
  enter(): Promise<void> | undefined {
    if (this.#refuseNew) throw this.#refuseNew();
    if (this.#busy) return this.#turn();
    this.#busy = true;
    return undefined;
  }

  leave(): void {
    this.#giveUp = undefined;
    const turn = this.#waiting.shift();
    if (turn) return turn();
    this.#busy = false;
    if (this.#whenIdle.length > 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** The answer to the statement under way, until it is abandoned. */
  unlessAbandoned<T>(answer: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#giveUp = reject;
      Promise.resolve(answer).then(resolve, reject);
    });
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

  /** Stops waiting for the statement under way: its caller gets `error`, and so leaves, whatever becomes of it. */
  abandon(error: Error): void {
    this.#giveUp?.(error);
  }

  /** Resolves when no statement runs or waits. */
  idle(): Promise<void> {
    return this.#busy ? new Promise((resolve) => this.#whenIdle.push(resolve)) : Promise.resolve();
  }

  async #turn(): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (!this.#refuseAll) return;
    this.leave();
    throw this.#refuseAll();
  }
}
