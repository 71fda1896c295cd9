import { aborted, type TransactionError } from '../errors.js';

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

/** Calls `listener` once when the signal aborts, or at once if it has. The function returned stops listening. */
export function onAbort(signal: AbortSignal, listener: (error: TransactionError) => void): () => void {
  const call = (): void => listener(aborted(signal));
  signal.addEventListener('abort', call, { once: true });
  if (signal.aborted) call();
  return () => signal.removeEventListener('abort', call);
}
