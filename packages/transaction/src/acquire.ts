import type { IContainer } from '@ambit/container';
import type { Acquisition } from './acquisition.js';
import { startTimer } from './clock.js';
import type { IDatabasePool, IPooledConnection } from './contract.js';
import { aborted, asCoded, TransactionError } from './errors.js';
import { stopwatch, transactionAcquired, transactionRefused } from './events.js';
import type { Settings } from './options.js';
import { release } from './release.js';
import { Transaction, type TransactionState } from './transaction.js';
import { transactionOf } from './transaction-of.js';

const oneTurn = Promise.resolve();

/** A transaction that has its connection and its scope, and nothing more yet. */
export async function acquire(parent: IContainer, settings: Settings, acquisition: Acquisition): Promise<Transaction> {
  if (settings.signal?.aborted) throw aborted(settings.signal);
  refuseSecond(transactionOf(parent)?.state);
  const pool = parent.resolve<IDatabasePool>('IDatabasePool');
  const milliseconds = stopwatch(transactionAcquired);
  let connection: IPooledConnection;
  try {
    const response = Promise.resolve(pool.getConnection(acquisition));
    let settled = false;
    const note = (): void => void (settled = true);
    response.then(note, note);
    // A pool with a free connection has settled after this, and needs no timer.
    await oneTurn;
    connection = await (settled ? response : inTime(response, settings, acquisition));
  } catch (failure) {
    const error = asCoded(failure, 'AMBIT_TX_ACQUIRE_FAILED', 'No connection could be had');
    if (transactionRefused.hasSubscribers) {
      transactionRefused.publish({ parent, milliseconds: milliseconds(), error });
    }
    throw error;
  } finally {
    acquisition.over();
  }
  const scope = openScope(parent, connection, settings);
  if (transactionAcquired.hasSubscribers) {
    transactionAcquired.publish({ parent, scope, milliseconds: milliseconds() });
  }
  return new Transaction(parent, scope, connection, settings);
}

/** A second connection would commit what the transaction around it rolls back, and wait for locks that this holds. */
function refuseSecond(around: TransactionState | undefined): void {
  if (around !== 'acquired' && around !== 'open') return;
  throw new TransactionError('AMBIT_TX_ALREADY_OPEN', 'A transaction was to begin in the scope of an open one');
}

/**
 * The pool is given the time limit and the signal, and `cancelAfterMs` longer to keep them by itself. One that keeps
 * neither is left behind; a connection that it gives later is released at once.
 */
function inTime(
  response: Promise<IPooledConnection>,
  settings: Settings,
  acquisition: Acquisition,
): Promise<IPooledConnection> {
  const { clock, acquireTimeoutMs, timeoutMs, cancelAfterMs } = settings;
  const limitMs = acquireTimeoutMs ?? timeoutMs;
  return new Promise<IPooledConnection>((resolve, reject) => {
    let left = false;
    const leave = (error: TransactionError): void => {
      left = true;
      reject(error);
    };
    const leaveLate = (): void => {
      const error = new TransactionError(
        'AMBIT_TX_ACQUIRE_TIMEOUT',
        `The pool gave no connection within ${Math.round(limitMs)} ms`,
      );
      leave(error);
      acquisition.giveUp(error);
    };
    let stopTimer = startTimer(clock, leaveLate, limitMs + cancelAfterMs);
    acquisition.whenGivenUp((why) => {
      stopTimer();
      if (!left) stopTimer = startTimer(clock, () => leave(aborted(why)), cancelAfterMs);
    });
    const settle = (connection: IPooledConnection): void => {
      if (left) release(connection, undefined, settings);
      else resolve(connection);
    };
    response.finally(() => stopTimer()).then(settle, reject);
  });
}

function openScope(parent: IContainer, connection: IPooledConnection, settings: Settings): IContainer {
  try {
    return parent.createScope({ tags: ['transaction'] });
  } catch (error) {
    // The parent was disposed while we waited for the connection, which is as good as new.
    release(connection, undefined, settings);
    throw error;
  }
}
