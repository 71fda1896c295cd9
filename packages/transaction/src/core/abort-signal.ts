import { aborted, type TransactionError } from './errors.js';

/** Calls `listener` once when the signal aborts, or at once if it has. The function returned stops listening. */
export function onAbort(signal: AbortSignal, listener: (error: TransactionError) => void): () => void {
  const call = (): void => listener(aborted(signal));
  signal.addEventListener('abort', call, { once: true });
  if (signal.aborted) call();
  return () => signal.removeEventListener('abort', call);
}
