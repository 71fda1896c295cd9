import { type Failure, settleWithin } from '../core/clock.js';
import type { BeginOptions, IPooledConnection } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import type { Settings } from '../core/options.js';
import type { StatementQueue } from '../core/statement-queue.js';

/** Called once: with the response of the database, when the time limit has passed, or when the statement is abandoned. */
type OnSettled = (failure?: Failure) => void;

export function sendBegin(
  connection: IPooledConnection,
  queue: StatementQueue,
  terms: BeginOptions,
  onSettled: OnSettled,
): void {
  let isSettled = false;
  const settle = (failure?: Failure): void => {
    if (isSettled) return;
    isSettled = true;
    queue.leave();
    onSettled(failure);
  };
  void queue.enter();
  try {
    const response = connection.beginTransaction(terms);
    queue.unlessAbandoned(
      response,
      () => settle(),
      (error) => settle({ error }),
    );
  } catch (error) {
    settle({ error });
  }
}

export function sendEnd(
  what: 'COMMIT' | 'ROLLBACK',
  connection: IPooledConnection,
  { clock, endTimeoutMs }: Settings,
  onSettled: OnSettled,
): void {
  try {
    const response = what === 'COMMIT' ? connection.commit() : connection.rollback();
    const late = (): TransactionError => {
      const detail = `The database did not respond to ${what} within ${endTimeoutMs} ms`;
      return new TransactionError('AMBIT_TX_CONNECTION_LOST', detail);
    };
    settleWithin(clock, connection.synchronous ? Infinity : endTimeoutMs, response, late, onSettled);
  } catch (error) {
    onSettled({ error });
  }
}
