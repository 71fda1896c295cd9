import type { Failure } from '../core/clock.js';
import { asCoded } from '../core/errors.js';
import type { Milestone } from './milestone.js';

/**
 * Calls `onSettled` once: when the pool's `afterBegin` has settled, or when the transaction has completed before that, since
 * a function that waits for something else than the connection does not notice a rollback.
 */
export function runAfterBegin(
  afterBegin: () => unknown,
  completed: Milestone,
  onSettled: (failure?: Failure) => void,
): void {
  let isSettled = false;
  const settle = (failure?: Failure): void => {
    if (isSettled) return;
    isSettled = true;
    onSettled(failure);
  };
  void completed.reached().then(() => settle());
  (async () => afterBegin())().then(
    () => settle(),
    (error: unknown) => settle({ error: asCoded(error, 'AMBIT_TX_BEGIN_FAILED', 'afterBegin() of the pool failed') }),
  );
}
