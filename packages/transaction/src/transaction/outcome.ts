import type { Failure } from '../core/clock.js';
import { because, isTransactionError, TransactionError } from '../core/errors.js';
import { saysNothingStored } from '../core/sql-state.js';

/** What became of a transaction. It is `unknown` where COMMIT was sent and the database did not say what it did. */
export type TransactionOutcome = 'committed' | 'rolled back' | 'unknown';
/** `acquired` until BEGIN has succeeded, then `open`, then the outcome. */
export type TransactionState = 'acquired' | 'open' | TransactionOutcome;

interface Completed {
  readonly state: TransactionState;
  readonly error: TransactionError | undefined;
  readonly rollback: { readonly reason: unknown } | undefined;
  /** The callbacks that run afterwards are being called. */
  readonly isInCallback: boolean;
}

/** The error of every use after a commit or a rollback was asked for. */
export function refusalAfter({ state, error, rollback, isInCallback }: Completed): TransactionError {
  if (isInCallback)
    return new TransactionError(
      'AMBIT_TX_IN_CALLBACK',
      `The transaction is ${state}, and its callbacks are being called`,
    );
  const how = rollback ? 'was rolled back' : state === 'open' ? 'is being committed' : `is ${state}`;
  const reason = rollback?.reason ?? error;
  if (isAborted(error)) return abortedUse(`The transaction ${how}`, error.cause);
  const options = reason === undefined ? {} : { cause: reason };
  return new TransactionError('AMBIT_TX_FINISHED', `The transaction ${how}${because(reason)}`, options);
}

/** The error of a statement that failed: after an abort the database only says that the statement was cancelled. */
export function failedStatement(error: unknown, transactionError: TransactionError | undefined): unknown {
  return isAborted(transactionError) ? abortedUse('A statement was cancelled', error) : error;
}

function isAborted(error: TransactionError | undefined): error is TransactionError {
  return error?.code === 'AMBIT_TX_ABORTED';
}

function abortedUse(what: string, cause: unknown): TransactionError {
  return new TransactionError('AMBIT_TX_ABORTED', what, { cause });
}

/** What a failed COMMIT means: nothing is stored where the database itself says so, otherwise nobody knows. */
export function failedCommit(cause: unknown): { state: TransactionOutcome; error: TransactionError } {
  if (saysNothingStored(cause)) {
    const error = new TransactionError('AMBIT_TX_COMMIT_FAILED', `COMMIT failed${because(cause)}`, { cause });
    return { state: 'rolled back', error };
  }
  const error = new TransactionError('AMBIT_TX_OUTCOME_UNKNOWN', 'COMMIT was sent and got no response', { cause });
  return { state: 'unknown', error };
}

/** Whether the error was made by `failedCommit()`. */
export function isFailedCommit({ code }: TransactionError): boolean {
  return code === 'AMBIT_TX_COMMIT_FAILED' || code === 'AMBIT_TX_OUTCOME_UNKNOWN';
}

export function openTooLong(ms: number): TransactionError {
  return new TransactionError('AMBIT_TX_TIMEOUT', `The transaction was open for ${Math.round(ms)} ms`);
}

/** Why a transaction can only roll back. */
export interface PastFailure extends Failure {
  /** A run that had joined the transaction failed, and no statement of it. */
  readonly isOfRun?: boolean;
}

/** The consequence of a statement, or a run, that failed before. */
export function failedBefore({ error: cause, isOfRun }: PastFailure, consequence: string): TransactionError {
  const reason = isOfRun ? 'a run that had joined the transaction failed' : 'an earlier statement failed';
  return new TransactionError('AMBIT_TX_FAILED', `${consequence}, because ${reason}`, { cause });
}

export function isConnectionLost(error: unknown): boolean {
  return isTransactionError(error) && error.code === 'AMBIT_TX_CONNECTION_LOST';
}
