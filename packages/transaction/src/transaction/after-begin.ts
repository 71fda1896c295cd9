import type { Failure } from '../core/clock.js';
import { asCoded } from '../core/errors.js';
import type { Milestone } from './transaction.js';

type Settle = (failure?: Failure) => void;

/** What is called with the result of BEGIN in place of `settle`, where the pool has a function that is part of BEGIN. */
export function thenCall(afterBegin: () => unknown, completed: Milestone, settle: Settle): Settle {
  return (failure) => {
    if (failure) settle(failure);
    else callAfterBegin(afterBegin, completed, settle);
  };
}

/**
 * Calls `settle` once: when the function has settled, or when the transaction has completed before that, since a function
 * that waits for something else than the connection does not notice a rollback.
 */
function callAfterBegin(afterBegin: () => unknown, completed: Milestone, settle: Settle): void {
  let isSettled = false;
  const settleOnce: Settle = (failure) => {
    if (isSettled) return;
    isSettled = true;
    settle(failure);
  };
  void completed.reached().then(() => settleOnce());
  (async () => afterBegin())().then(
    () => settleOnce(),
    (error: unknown) =>
      settleOnce({ error: asCoded(error, 'AMBIT_TX_BEGIN_FAILED', 'afterBegin() of the pool failed') }),
  );
}
