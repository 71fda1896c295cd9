import { AsyncLocalStorage } from 'node:async_hooks';
import { TransactionError } from './errors.js';

/** Told from every other by identity, because the names of savepoints are used again. */
export interface NestedRun {
  over: boolean;
}

/** The nested runs, of whichever transactions, that the code now running is part of. */
const current = new AsyncLocalStorage<readonly NestedRun[]>();

/** Does `work` as the innermost of the nested runs at work in one transaction; it is given the name of its savepoint. */
export async function asNestedRun<T>(atWork: NestedRun[], work: (savepoint: string) => Promise<T>): Promise<T> {
  refuseOutsider(atWork);
  // Code that outlives its run may start the next one, and so on: what is over must not pile up.
  const around = current.getStore()?.filter(({ over }) => !over) ?? [];
  const run: NestedRun = { over: false };
  atWork.push(run);
  try {
    return await current.run([...around, run], work, `ambit_${atWork.length}`);
  } finally {
    run.over = true;
    atWork.splice(atWork.indexOf(run), 1);
  }
}

/** What is done from beside a nested run is inside of its savepoint all the same, and would be undone when it fails. */
export function refuseOutsider(atWork: readonly NestedRun[]): void {
  const innermost = atWork.at(-1);
  if (!innermost || current.getStore()?.includes(innermost)) return;
  throw new TransactionError(
    'AMBIT_TX_NESTED',
    'A nested run is at work in the transaction, and this is no part of it',
  );
}
