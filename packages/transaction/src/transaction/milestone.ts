import type { TransactionError } from '../core/errors.js';

/** Something that happens once. It creates a promise only where somebody waits for it. */
export class Milestone {
  #isReached = false;
  #promise: Promise<void> | undefined = undefined;
  #resolve: (() => void) | undefined = undefined;

  reach(): void {
    this.#isReached = true;
    this.#resolve?.();
  }

  reached(): Promise<void> {
    this.#promise ??= new Promise((resolve) => {
      if (this.#isReached) resolve();
      else this.#resolve = resolve;
    });
    return this.#promise;
  }
}

/** Notifies the work that its transaction cannot commit any more. It creates an `AbortSignal` only when somebody reads it. */
export class LostSignal {
  #error: TransactionError | undefined = undefined;
  #controller: AbortController | undefined = undefined;
  #listener: ((error: TransactionError) => void) | undefined = undefined;

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#error) this.#controller.abort(this.#error);
    }
    return this.#controller.signal;
  }

  /** One listener at a time, for much less than a signal costs. */
  listen(listener: (error: TransactionError) => void): void {
    this.#listener = listener;
    if (this.#error) listener(this.#error);
  }

  notify(error: TransactionError): void {
    this.#error = error;
    this.#controller?.abort(error);
    this.#listener?.(error);
  }
}
