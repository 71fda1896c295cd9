import { startTimer } from '../core/clock.js';
import type { IPooledConnection } from '../core/contract.js';
import { aborted, report, TransactionError } from '../core/errors.js';
import type { Settings } from '../core/options.js';
import type { StatementQueue } from '../core/statement-queue.js';
import { callSafely } from '../pool/checkout.js';

interface Cancelling {
  readonly connection: IPooledConnection;
  readonly queue: StatementQueue;
  readonly settings: Settings;
  /** Called when the statement is cancelled, and again when it is abandoned, with the reason to destroy the connection. */
  readonly onBroken: (error: TransactionError, isAbandoned: boolean) => void;
}

/** A rollback does not wait long for the statement in progress: it cancels the statement, and at last abandons it. */
export function cancelSoon({ connection, queue, settings, onBroken }: Cancelling): void {
  const { clock, cancelAfterMs, endTimeoutMs } = settings;

  function cancel(): void {
    // The request may reach the database late and cancel the next user's statement, so there must be no next user.
    onBroken(new TransactionError('AMBIT_TX_CONNECTION_LOST', 'A statement was cancelled by the rollback'), false);
    callSafely(
      () => connection.cancel?.(),
      (cause) => report(settings, new TransactionError('AMBIT_TX_ROLLBACK_FAILED', 'cancel() failed', { cause })),
    );
  }

  function abandon(): void {
    const error = new TransactionError('AMBIT_TX_CONNECTION_LOST', 'A statement continued after it was cancelled');
    onBroken(error, true);
    queue.abandon(error);
  }

  const stopTimers = [
    startTimer(clock, cancel, cancelAfterMs),
    startTimer(clock, abandon, cancelAfterMs + endTimeoutMs),
  ];
  void queue.idle().then(() => stopTimers.forEach((stop) => stop()));
}

/** Calls `listener` once when the signal aborts, or at once if it has. The function returned stops listening. */
export function onAbort(signal: AbortSignal, listener: (error: TransactionError) => void): () => void {
  const call = (): void => listener(aborted(signal));
  signal.addEventListener('abort', call, { once: true });
  if (signal.aborted) call();
  return () => signal.removeEventListener('abort', call);
}
