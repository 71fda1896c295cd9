import { AsyncLocalStorage } from 'node:async_hooks';
import { TransactionError } from '../core/errors.js';

/** Compared by identity, because the names of savepoints are reused. */
export interface NestedRun {
  isOver: boolean;
}

/** The nested runs, of any transaction, that the code now running belongs to. */
const current = new AsyncLocalStorage<readonly NestedRun[]>();

/** Does `work` as the innermost nested run of one transaction; `work` receives the name of its savepoint. */
export async function asNestedRun<T>(inProgress: NestedRun[], work: (savepoint: string) => Promise<T>): Promise<T> {
  refuseOutsider(inProgress);
  // Code that outlives its run may start the next one, and so on: finished runs must not pile up.
  const around = current.getStore()?.filter(({ isOver }) => !isOver) ?? [];
  const run: NestedRun = { isOver: false };
  inProgress.push(run);
  try {
    return await current.run([...around, run], work, `ambit_${inProgress.length}`);
  } finally {
    run.isOver = true;
    inProgress.splice(inProgress.indexOf(run), 1);
  }
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
