import { TransactionError } from './errors.js';
import { sqlStateOf } from './sql-state.js';

/** What connections refuse, whichever database they lead to. */
export function released(options?: { sqlState: string }): TransactionError {
  return new TransactionError('AMBIT_TX_RELEASED', 'The connection was used after its release', options);
}

/** The server rolls an open transaction back, so this is a definite response to a COMMIT too. */
export function poolClosed(): TransactionError {
  return new TransactionError('AMBIT_TX_POOL_CLOSED', 'The pool was closed meanwhile', { sqlState: '08003' });
}

export function nothingToCommit(): TransactionError {
  const what = 'COMMIT found no open transaction: a statement has already committed it or rolled it back';
  return new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what);
}

/** `lostBecause` is what the server said when it closed the connection. The SQLSTATE of ours says that nothing was stored. */
export function lostBeforeCommit(lostBecause: unknown): TransactionError {
  return connectionLost(lostBecause, '08003', 'The connection to the database was lost before COMMIT was sent');
}

/** The command of its response is then ROLLBACK, and the response is no error. */
export function rolledBack(): TransactionError {
  const what = 'The database rolled back in response to COMMIT';
  return new TransactionError('AMBIT_TX_COMMIT_FAILED', what, { sqlState: '40000' });
}

export function savepointAlone(): TransactionError {
  const what = 'A savepoint needs an open transaction';
  return new TransactionError('AMBIT_TX_STATEMENT_FAILED', what, { sqlState: '25P01' });
}

/** The message names the SQLSTATE that the server gave as its reason; its text is in the cause only. */
export function connectionLost(
  cause: unknown,
  sqlState?: string,
  what = 'The connection to the database was lost',
): TransactionError {
  const reason = sqlStateOf(cause);
  return new TransactionError('AMBIT_TX_CONNECTION_LOST', reason === undefined ? what : `${what} (${reason})`, {
    ...(cause === undefined ? {} : { cause }),
    ...(sqlState === undefined ? {} : { sqlState }),
  });
}

/** A statement after that: it was not sent. */
export function lostBefore(lostBecause: unknown): TransactionError {
  return connectionLost(lostBecause, '08003');
}
