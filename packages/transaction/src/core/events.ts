import { channel } from 'node:diagnostics_channel';

/** `{ parent, milliseconds, error }`, after the pool gave no connection for a transaction. */
export const transactionRefused = channel('ambit:transaction:refused');
/** `{ parent, scope, milliseconds }`, after the pool gave one; `scope` is the transaction's, `parent` the scope around it. */
export const transactionAcquired = channel('ambit:transaction:acquired');
/** `{ scope, milliseconds }`, after BEGIN succeeded. */
export const transactionBegun = channel('ambit:transaction:begun');
/** `{ scope, sql, milliseconds, error? }`, after a statement in a transaction succeeded or failed. Never its parameters. */
export const transactionStatement = channel('ambit:transaction:statement');
/** `{ scope, outcome, milliseconds, error? }`, after COMMIT or ROLLBACK; the outcome is `committed`, `rolled back` or `unknown`. */
export const transactionEnded = channel('ambit:transaction:ended');

/** The milliseconds since a `performance.now()`; 0 where it was not read, because nobody had subscribed yet. */
export function since(start: number): number {
  return start === 0 ? 0 : performance.now() - start;
}

interface Completed {
  readonly scope: object;
  readonly state: string;
  readonly error: Error | undefined;
}

export function publishEnded({ scope, state: outcome, error }: Completed, sentAt: number): void {
  transactionEnded.publish({ scope, outcome, milliseconds: since(sentAt), ...(error ? { error } : {}) });
}
