import { AsyncLocalStorage } from '#platform';
import { ContainerError } from './errors.js';
import type { AbstractClass, Delivered, Keyed, KnownKey, Listed, ServiceMap } from './keys.js';

/**
 * Makes a value. It receives the scope that resolves it; for a singleton, the scope that owns it; in `register`, the scope it was
 * registered on.
 */
export type Factory<T = unknown> = (scope: IContainer) => T;

/** The interface of a container for host integrations. Any object with these methods will do. */
export interface IContainer {
  /**
   * The instance bound to the key, as seen from this scope.
   *
   * @param key - a string, a symbol or a class
   * @returns the instance
   */
  resolve<K extends KnownKey>(key: K): ServiceMap[K];
  resolve<C extends AbstractClass>(key: C): InstanceType<C>;
  resolve<T = unknown, const K extends Keyed<T> = Keyed<T>>(key: Listed<K>): T;
  /**
   * Tells if `resolve` would find the key; a container may lack this.
   *
   * @param key - the key to look for
   * @returns true if the key is registered
   */
  has?(key: string): boolean;
  /**
   * Opens a child scope.
   *
   * @param options - the tags of the scope, such as `request`
   * @returns the child scope, which the caller disposes
   */
  createScope(options: { tags: string[] }): IContainer;
  /**
   * Binds a key on this one scope.
   *
   * @param key - what this scope and those below it resolve the value by
   * @param factory - makes the value
   * @returns whatever the container returns: nobody reads it
   */
  register<const K extends string>(key: Listed<K>, factory: Factory<Delivered<K>>): unknown;
  /**
   * Disposes the scope, its children first.
   *
   * @param reason - why the work of the scope failed; a container may ignore it
   * @returns a promise, if there is something to wait for
   */
  dispose(reason?: unknown): Promise<void> | void;
  /**
   * Runs a callback when the scope is disposed; a container may lack this.
   *
   * @param cleanup - the callback; its promise is awaited. It receives the reason of `dispose(reason)`, where the container passes it on
   * @returns whatever the container returns: nobody reads it
   */
  defer?(cleanup: (reason?: unknown) => unknown): unknown;
}
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
 * @param otherwise - what to return where there is none, for code that also runs outside of a scope. Default: none, and it throws
 * @returns the scope
 * @throws `ContainerError` `AMBIT_NO_SCOPE`: there is no `runInScope` around this call, and `otherwise` was not passed
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
export function currentScope(): IContainer;
// Without `strictNullChecks` an undefined argument would make the result `any`.
export function currentScope(otherwise: undefined): IContainer | undefined;
export function currentScope<T>(otherwise: T): IContainer | T;
export function currentScope<T>(...otherwise: T[]): IContainer | T {
  const scope = current.getStore();
  if (scope) return scope;
  if (otherwise.length > 0) return otherwise[0] as T;
  throw new ContainerError('AMBIT_NO_SCOPE', {
    hint: 'call it in runInScope(scope, work), in NestJS with @InScope(), or in what that starts',
  });
}
