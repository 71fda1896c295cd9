import type { IContainer } from '@ambit/container';
import { beforeDispose } from './foreign-scope.js';

/** By scope, because a scope may outlive millions of transactions and can only ever be given cleanup callbacks. */
const unfinished = new WeakMap<IContainer, Set<Promise<void>>>();

/** Makes the disposal of `scope` wait for work that is in progress. `work` never rejects. */
export function disposeAfter(work: Promise<void>, scope: IContainer): void {
  const all = unfinished.get(scope) ?? watch(scope);
  all.add(work);
  void work.then(() => all.delete(work));
}

function watch(scope: IContainer): Set<Promise<void>> {
  const all = new Set<Promise<void>>();
  const finish = async (): Promise<void> => {
    for (const work of all) await work;
  };
  unfinished.set(scope, all);
  try {
    if (scope.defer) scope.defer(finish);
    else beforeDispose(scope, finish);
  } catch {
    // It is disposed already, and nothing can make it wait.
  }
  return all;
}
