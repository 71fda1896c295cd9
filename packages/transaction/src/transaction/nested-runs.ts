import { AsyncLocalStorage } from 'node:async_hooks';
import { TransactionError } from '../core/errors.js';

/** Compared by identity, because the names of savepoints are reused. */
export interface NestedRun {
  isOver: boolean;
  /** The transactions that the run is no part of, although they began in its scope: it is `not-supported`. */
  readonly outsideOf?: readonly object[];
}

/** The nested runs, of any transaction, that the code now running belongs to. */
const current = new AsyncLocalStorage<readonly NestedRun[]>();

/** Makes `work`, and everything that it starts, part of the run. */
export function withinRun<T>(run: NestedRun, work: () => T): T {
  const around = current.getStore() ?? [];
  if (around.includes(run)) return work();
  // Code that outlives its run may start the next one, and so on: finished runs must not pile up.
  return current.run([...around.filter(({ isOver }) => !isOver), run], work);
}

/** Whether the code now running belongs to a run that is no part of the transaction. */
export function isOutsideOf(transaction: object): boolean {
  return current.getStore()?.some(({ outsideOf }) => outsideOf?.includes(transaction)) ?? false;
}

/** A statement or a callback from outside a nested run would be inside its savepoint all the same, and be undone when the run fails. */
export function refuseOutsider(inProgress: readonly NestedRun[], what = 'The connection was used'): void {
  const innermost = inProgress.at(-1);
  if (!innermost || current.getStore()?.includes(innermost)) return;
  throw new TransactionError(
    'AMBIT_TX_NESTED',
    `${what} outside of the nested run that is in progress in the transaction`,
  );
}
