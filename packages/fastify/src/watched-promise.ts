/**
 * A promise that knows whether anybody awaits it: a failure that nobody awaits must not end the process as an unhandled
 * rejection, but must not be lost either.
 */
export class WatchedPromise<T> extends Promise<T> {
  #awaited = false;

  /** `then()` returns an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  static of<T>(work: Promise<T>): WatchedPromise<T> {
    const watched = new WatchedPromise<T>((resolve, reject) => void work.then(resolve, reject));
    void super.prototype.then.call(watched, undefined, () => undefined);
    return watched;
  }

  get awaited(): boolean {
    return this.#awaited;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- a promise is one
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#awaited = true;
    return super.then(onFulfilled, onRejected);
  }
}

/** A transaction that could not be started or committed. */
export interface FailedStep {
  readonly error: unknown;
  /** Whether the handler awaits the step, and so knows. */
  readonly isKnown: () => boolean;
  /** Writes it to the log. */
  readonly log: () => void;
}
