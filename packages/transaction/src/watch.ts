import { startTimer } from './clock.js';
import { aborted, TransactionError } from './errors.js';
import type { Settings } from './options.js';

/** Calls `end` when it was open for too long or nobody waits for it any more, until the function given back is called. */
export function watch({ signal, timeoutMs, clock }: Settings, end: (why: TransactionError) => void): () => void {
  const stopTimer = startTimer(clock, () => end(openTooLong(timeoutMs)), timeoutMs);
  if (!signal) return stopTimer;
  const onAbort = (): void => end(aborted(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  return () => {
    stopTimer();
    signal.removeEventListener('abort', onAbort);
  };
}

function openTooLong(ms: number): TransactionError {
  return new TransactionError('AMBIT_TX_TIMEOUT', `The transaction was open for ${Math.round(ms)} ms`);
}
