import { AsyncLocalStorage } from '#platform';
import type { IContainer } from './contract.js';
import { ContainerError } from './errors.js';

const current = new AsyncLocalStorage<IContainer>();

/**
 * Runs the function with the scope as the current one, also for everything that it starts or awaits.
 * @returns what the function returns
 *
 * @example
 * ```ts
 * const request = new Container().createScope({ tags: ['request'] });
 * runInScope(request, () => currentScope() === request);
 * ```
 */
export const runInScope = <T>(scope: IContainer, work: () => T): T => current.run(scope, work);

/**
 * The scope that `runInScope` set around this call.
 * @throws {ContainerError} `AMBIT_NO_CURRENT_SCOPE` outside of `runInScope`
 */
export function currentScope(): IContainer {
  const scope = current.getStore();
  if (scope) return scope;
  throw new ContainerError('AMBIT_NO_CURRENT_SCOPE', {
    hint: 'call it in the work of runInScope(scope, work), or in what that work starts',
  });
}
