import { type Channel, channel } from 'node:diagnostics_channel';

/** `{ parent, milliseconds, error }`, after the pool gave no connection for a transaction. */
export const transactionRefused = channel('ambit:transaction:refused');
/** `{ parent, scope, milliseconds }`, after the pool gave one; `scope` is the transaction's, `parent` the scope around it. */
export const transactionAcquired = channel('ambit:transaction:acquired');
/** `{ scope, milliseconds }`, after BEGIN was answered. */
export const transactionBegun = channel('ambit:transaction:begun');
/** `{ scope, sql, milliseconds, error? }`, after a statement in a transaction was answered. Never its parameters. */
export const transactionStatement = channel('ambit:transaction:statement');
/** `{ scope, outcome, milliseconds, error? }`, after COMMIT or ROLLBACK took so long; the outcome is `committed`, `rolled back` or `unknown`. */
export const transactionEnded = channel('ambit:transaction:ended');

const nothing = (): number => 0;

/** Tells the milliseconds that have passed, if anybody listens: to look at the clock is not free. */
export function stopwatch({ hasSubscribers }: Channel): () => number {
  if (!hasSubscribers) return nothing;
  const start = performance.now();
  return () => performance.now() - start;
}

export function tellBegun(scope: object, milliseconds: number): void {
  if (transactionBegun.hasSubscribers) transactionBegun.publish({ scope, milliseconds });
}

export function tellEnded({ scope, state: outcome, error }: Ended, milliseconds: number): void {
  if (!transactionEnded.hasSubscribers) return;
  transactionEnded.publish({ scope, outcome, milliseconds, ...(error ? { error } : {}) });
}

interface Ended {
  readonly scope: object;
  readonly state: string;
  readonly error: Error | undefined;
}
