/**
 * A promise that knows whether anybody awaits it: a failure that nobody awaits must not crash the process as an unhandled
 * rejection, but must not be lost either.
 */
export class WatchedPromise<T> extends Promise<T> {
  #isAwaited = false;

  /** `then()` returns an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** Settles as `work` does; `settled` is called first, with the failure where there is one, and what was awaited. */
  static of<W, T>(
    work: Promise<W>,
    { value, failed }: { readonly value: (result: W) => T; readonly failed: (step: Omit<FailedStep, 'log'>) => void },
  ): WatchedPromise<T> {
    const watched = new WatchedPromise<T>((resolve, reject) => {
      const fail = (error: unknown): void => {
        failed({ error, isKnown: () => watched.#isAwaited });
        // From now on it counts as handled.
        void super.prototype.then.call(watched, undefined, () => undefined);
        reject(error);
      };
      work.then((result) => resolve(value(result)), fail);
    });
    return watched;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- a promise is one
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#isAwaited = true;
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
