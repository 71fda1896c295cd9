import { startTimer } from '../core/clock.js';
import type { IDatabasePool, IPooledConnection } from '../core/contract.js';
import { aborted, TransactionError } from '../core/errors.js';
import type { Settings } from '../core/options.js';
import type { AcquireRequest } from '../pool/acquire-request.js';
import { release } from '../transaction/release.js';

const oneTurn = Promise.resolve();

interface Acquiring {
  readonly settings: Settings;
  readonly request: AcquireRequest;
  readonly onConnection: (connection: IPooledConnection) => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Asks the pool for a connection, and calls one of the two functions once. The pool receives the time limit and the
 * signal, and has `cancelAfterMs` longer to keep them by itself. After that the transaction stops waiting; a connection
 * that the pool gives later is released at once.
 */
export function acquireConnection(pool: IDatabasePool, acquiring: Acquiring): void {
  const { settings, request, onConnection, onFailure } = acquiring;
  let isSettled = false;
  let stopTimer: (() => void) | undefined;

  function settle(): void {
    isSettled = true;
    stopTimer?.();
    request.close();
  }

  function fail(error: unknown): void {
    if (isSettled) return;
    settle();
    onFailure(error);
  }

  function receive(connection: IPooledConnection): void {
    if (isSettled) return release(connection, undefined, settings);
    settle();
    onConnection(connection);
  }

  function limitWait(): void {
    const { clock, acquireTimeoutMs, timeoutMs, cancelAfterMs } = settings;
    const limitMs = acquireTimeoutMs ?? timeoutMs;
    const timeOut = (): void => {
      const detail = `The pool gave no connection within ${Math.round(limitMs)} ms`;
      const error = new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', detail);
      fail(error);
      request.cancel(error);
    };
    stopTimer = startTimer(clock, timeOut, limitMs + cancelAfterMs);
    request.onCancelled((why) => {
      stopTimer?.();
      stopTimer = startTimer(clock, () => fail(aborted(why)), cancelAfterMs);
    });
  }

  try {
    Promise.resolve(pool.getConnection(request)).then(receive, fail);
  } catch (error) {
    return fail(error);
  }
  // A pool with a free connection has responded by then, and needs no timer.
  void oneTurn.then(() => {
    if (!isSettled) limitWait();
  });
}
