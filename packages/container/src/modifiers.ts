import type { Modifier, Recipe, ScopePredicate } from './registration.js';
import type { IContainer } from './contract.js';
import { checkFunction } from './errors.js';

/**
 * Lifetime: one instance per owning scope. Without it every `resolve` makes a new instance (transient).
 *
 * @returns the modifier, for `Registration.pipe`
 *
 * @example
 * ```ts
 * class UserCache { readonly users = new Map<string, unknown>(); }
 * Registration.fromClass(UserCache).pipe(singleton()).to('IUserCache'); // one for the whole application
 * ```
 */
export const singleton = (): (<T>(recipe: Recipe<T>) => Recipe<T>) => (recipe) => ({ ...recipe, singleton: true });

/**
 * Other code disposes the instances: the container does not call their `Symbol.asyncDispose`, `Symbol.dispose` or `dispose()`.
 * An `onDispose` of the registration is still called.
 *
 * @returns the modifier, for `Registration.pipe`
 *
 * @example
 * ```ts
 * const shared = { dispose() {} }; // other code closes it
 * Registration.fromFactory(() => shared).pipe(singleton(), externallyOwned()).to('IShared');
 * ```
 */
export const externallyOwned = (): (<T>(recipe: Recipe<T>) => Recipe<T>) => (recipe) => ({
  ...recipe,
  externallyOwned: true,
});

/**
 * Says that a *split key* is meant. A service of an outer scope keeps the dependency of that scope, also where it is resolved in an inner
 * scope that has the key again: behind a transaction, a request-scoped service that was given the pool writes outside of the transaction.
 * `verify()` reports that, unless the service has this modifier, or the registration of the inner scope has it.
 *
 * @returns the modifier, for `Registration.pipe`
 *
 * @example
 * ```ts
 * Registration.fromFactory((db) => ({ db }), ['db'])
 *   .pipe(singleton(), scope(hasTag('request')), allowSplit()) // its lines stay when the transaction is rolled back
 *   .to('IAuditTrail');
 * ```
 */
export const allowSplit = (): (<T>(recipe: Recipe<T>) => Recipe<T>) => (recipe) => ({ ...recipe, allowSplit: true });

/**
 * Lifetime: applies only in scopes whose tags satisfy the predicate. The nearest such scope owns the instance.
 * `singleton(), scope(hasTag('request'))` makes a service request-scoped. With several, all of them must accept the scope.
 *
 * @param predicate - looks at the tags of a scope, such as {@link hasTag}
 * @returns the modifier, for `Registration.pipe`
 * @throws `ContainerError` `AMBIT_BAD_REGISTRATION`, from `pipe`: the predicate is no function
 *
 * @example
 * ```ts
 * class Cart { readonly items: string[] = []; }
 * Registration.fromClass(Cart).pipe(singleton(), scope(hasTag('request'))).to('ICart'); // one per request
 * ```
 */
export const scope =
  (predicate: ScopePredicate): (<T>(recipe: Recipe<T>) => Recipe<T>) =>
  (recipe) => {
    checkFunction(predicate, 'scope', "a predicate: scope(hasTag('request'))");
    const { when } = recipe;
    // A predicate may take `hasTag` out of its argument: ({ hasTag }) => hasTag('request').
    return {
      ...recipe,
      when: (tagged) => (!when || when(tagged)) && predicate({ hasTag: (tag) => tagged.hasTag(tag) }),
    };
  };

/**
 * A predicate for {@link scope}: true when the scope itself has the tag.
 *
 * @param tag - the tag, such as `request` or `transaction`
 * @returns the predicate
 *
 * @example
 * ```ts
 * class OrderRepository {}
 * Registration.fromClass(OrderRepository).pipe(singleton(), scope(hasTag('transaction'))).to('IOrders'); // one per transaction
 * ```
 */
export const hasTag =
  (tag: string): ScopePredicate =>
  (tagged) =>
    tagged.hasTag(tag);

/**
 * Wraps each instance, for logging, caching, retries. Several apply in the order given.
 *
 * @param wrap - receives the instance and the scope that makes it, and returns what takes its place
 * @returns the modifier, for `Registration.pipe`
 *
 * @example
 * ```ts
 * Registration.fromValue({ greet: () => 'hello' })
 *   .pipe(decorate((inner) => ({ greet: () => inner.greet().toUpperCase() })))
 *   .to('IGreeter');
 * ```
 */
export const decorate =
  <A, B = A>(wrap: (inner: A, scope: IContainer) => B): Modifier<A, B> =>
  (recipe) =>
    ({ ...recipe, decorators: [...(recipe.decorators ?? []), wrap] }) as Recipe as Recipe<B>;

/**
 * Disposes an instance in place of its own `Symbol.asyncDispose`, `Symbol.dispose` or `dispose()`. For a `singleton()` from a class or a
 * factory only.
 *
 * @param cleanup - receives the instance, as the decorators listed before had wrapped it, and the reason that `dispose(reason)` was called
 *   with: undefined unless the work of the scope failed. The disposal awaits its promise
 * @returns the modifier, for `Registration.pipe`
 *
 * @example
 * ```ts
 * class Pool { async end() {} }
 * Registration.fromClass(Pool).pipe(singleton(), onDispose((pool) => pool.end())).to('IPool');
 * ```
 */
export const onDispose =
  <T>(cleanup: (instance: T, reason: unknown) => unknown): Modifier<T> =>
  (recipe) => ({
    ...recipe,
    onDispose: [...(recipe.onDispose ?? []), { layer: recipe.decorators?.length ?? 0, act: cleanup }],
  });

/**
 * Prepares an application singleton. `app.start()` calls these in dependency order; none of them may await `app.start()` itself. For a
 * `singleton()` from a class or a factory only.
 *
 * @param start - receives the instance, as the decorators listed before had wrapped it; `app.start()` awaits its promise
 * @returns the modifier, for `Registration.pipe`
 *
 * @example
 * ```ts
 * class Pool { async connect() {} }
 * const app = new Container({ tags: ['application'] });
 * app.addRegistration(Registration.fromClass(Pool).pipe(singleton(), onStart((pool) => pool.connect())).to('IPool'));
 * await app.start();
 * ```
 */
export const onStart =
  <T>(start: (instance: T) => unknown): Modifier<T> =>
  (recipe) => ({
    ...recipe,
    onStart: [...(recipe.onStart ?? []), { layer: recipe.decorators?.length ?? 0, act: start }],
  });
