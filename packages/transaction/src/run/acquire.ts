import type { IContainer } from '@ambit/container';
import { startTimer } from '../core/clock.js';
import type { IDatabasePool, IPooledConnection } from '../core/contract.js';
import { aborted, asCoded, TransactionError } from '../core/errors.js';
import { since, transactionAcquired, transactionRefused } from '../core/events.js';
import type { Settings } from '../core/options.js';
import type { AcquireRequest } from '../pool/acquire-request.js';
import { release } from '../transaction/release.js';
import { Transaction } from '../transaction/transaction.js';
import { transactionOf } from '../transaction/transaction-of.js';

const oneTurn = Promise.resolve();

/** A transaction that has its connection and its scope, and has not begun yet. */
export async function acquire(parent: IContainer, settings: Settings, request: AcquireRequest): Promise<Transaction> {
  if (settings.signal?.aborted) throw aborted(settings.signal);
  refuseSecond(parent);
  const pool = parent.resolve<IDatabasePool>('IDatabasePool');
  const isObserved = transactionAcquired.hasSubscribers || transactionRefused.hasSubscribers;
  const start = isObserved ? performance.now() : 0;
  let connection: IPooledConnection;
  try {
    const response = Promise.resolve(pool.getConnection(request));
    let isSettled = false;
    const settle = (): void => void (isSettled = true);
    response.then(settle, settle);
    // The response of a pool with a free connection has settled after this, and needs no timer.
    await oneTurn;
    connection = await (isSettled ? response : inTime(response, settings, request));
  } catch (failure) {
    const error = asCoded(failure, 'AMBIT_TX_ACQUIRE_FAILED', 'No connection could be acquired');
    if (transactionRefused.hasSubscribers) {
      transactionRefused.publish({ parent, milliseconds: since(start), error });
    }
    throw error;
  } finally {
    request.close();
  }
  const scope = openScope(parent, connection, settings);
  if (transactionAcquired.hasSubscribers) {
    transactionAcquired.publish({ parent, scope, milliseconds: since(start) });
  }
  return new Transaction(parent, scope, connection, settings);
}

/** A second connection would commit what the transaction around it rolls back, and wait for locks that this holds. */
function refuseSecond(parent: IContainer): void {
  const state = transactionOf(parent)?.state;
  if (state !== 'acquired' && state !== 'open') return;
  throw new TransactionError('AMBIT_TX_ALREADY_OPEN', 'A transaction was to begin in the scope of an open one');
}

/**
 * The pool receives the time limit and the signal, and has `cancelAfterMs` longer to keep them by itself. After that the
 * transaction stops waiting; a connection that the pool gives later is released at once.
 */
function inTime(
  response: Promise<IPooledConnection>,
  settings: Settings,
  request: AcquireRequest,
): Promise<IPooledConnection> {
  const { clock, acquireTimeoutMs, timeoutMs, cancelAfterMs } = settings;
  const limitMs = acquireTimeoutMs ?? timeoutMs;
  return new Promise<IPooledConnection>((resolve, reject) => {
    let isLate = false;
    const stopWaiting = (error: TransactionError): void => {
      isLate = true;
      reject(error);
    };
    const timeOut = (): void => {
      const detail = `The pool gave no connection within ${Math.round(limitMs)} ms`;
      const error = new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', detail);
      stopWaiting(error);
      request.cancel(error);
    };
    let stopTimer = startTimer(clock, timeOut, limitMs + cancelAfterMs);
    request.onCancelled((why) => {
      stopTimer();
      if (!isLate) stopTimer = startTimer(clock, () => stopWaiting(aborted(why)), cancelAfterMs);
    });
    const settle = (connection: IPooledConnection): void => {
      if (isLate) release(connection, undefined, settings);
      else resolve(connection);
    };
    response.finally(() => stopTimer()).then(settle, reject);
  });
}

function openScope(parent: IContainer, connection: IPooledConnection, settings: Settings): IContainer {
  try {
    return parent.createScope({ tags: ['transaction'] });
  } catch (error) {
    // The parent was disposed while we waited for the connection, which nobody has used.
    release(connection, undefined, settings);
    throw error;
  }
}
