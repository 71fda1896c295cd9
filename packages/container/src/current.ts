import { AsyncLocalStorage } from 'node:async_hooks';
import type { IContainer } from './contract.js';
import { ContainerError } from './errors.js';

const current = new AsyncLocalStorage<IContainer>();

/**
 * Runs the function with the scope as the current one, for it and for all it awaits.
 *
 * @example
 * ```ts
 * const request = new Container().createScope({ tags: ['request'] });
 * runInScope(request, () => currentScope() === request);
 * ```
 */
export const runInScope = <T>(scope: IContainer, work: () => T): T => current.run(scope, work);

/** The scope that `runInScope` set around this call. */
export function currentScope(): IContainer {
  const scope = current.getStore();
  if (scope) return scope;
  throw new ContainerError('AMBIT_NO_CURRENT_SCOPE', {
    hint: 'call it within runInScope(scope, work); what work starts and does not await is within, too',
  });
}
