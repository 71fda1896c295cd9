import { AsyncLocalStorage } from '#platform';
import type { IContainer } from './contract.js';
import { ContainerError } from './errors.js';

const current = new AsyncLocalStorage<IContainer>();

/**
 * Runs the function with the scope as the current one, also for everything that it starts or awaits.
 *
 * @param scope - what `currentScope()` returns there
 * @param work - the function
 * @returns what the function returns
 * @throws what the function throws; a `TypeError` on platforms without `AsyncLocalStorage` in Node's way: browsers and Workers
 *
 * @example
 * ```ts
 * const request = new Container().createScope({ tags: ['request'] });
 * runInScope(request, () => currentScope() === request);
 * ```
 */
export const runInScope = <T>(scope: IContainer, work: () => T): T => current.run(scope, work);

/**
 * The scope that `runInScope` set around this call, for code that nobody passes a scope to.
 *
 * @returns the scope
 * @throws `ContainerError` `AMBIT_NO_CURRENT_SCOPE`: there is no `runInScope` around this call
 *
 * @example
 * ```ts
 * interface AuditLog { add(line: string): void }
 *
 * function audit(line: string) {
 *   currentScope().resolve<AuditLog>('IAuditLog').add(line);
 * }
 * const request = new Container({ tags: ['application'] }).createScope({ tags: ['request'] });
 * request.register('IAuditLog', () => ({ add: console.log }));
 * runInScope(request, () => audit('order placed'));
 * ```
 */
export function currentScope(): IContainer {
  const scope = current.getStore();
  if (scope) return scope;
  throw new ContainerError('AMBIT_NO_CURRENT_SCOPE', {
    hint: 'call it in the work of runInScope(scope, work), or in what that work starts',
  });
}
