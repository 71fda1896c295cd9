import type { Modifier, Recipe, ScopePredicate } from './binding.js';
import type { IContainer } from './contract.js';
import { checkFunction } from './errors.js';

/** Lifetime: one instance per owning scope. Without it every `resolve` makes a new instance (transient). */
export const singleton = (): (<T>(recipe: Recipe<T>) => Recipe<T>) => (recipe) => ({ ...recipe, singleton: true });

/**
 * Other code disposes the instances: the container does not call their `Symbol.asyncDispose`, `Symbol.dispose` or `dispose()`.
 * An `onDispose` of the registration is still called.
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
 * Lifetime: applies only in scopes whose tags satisfy the predicate. The nearest such scope owns the instance.
 * `singleton(), scope(hasTag('request'))` makes a service request-scoped.
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

/** A predicate for {@link scope}: true when the scope has the tag. */
export const hasTag =
  (tag: string): ScopePredicate =>
  (tagged) =>
    tagged.hasTag(tag);

/**
 * Wraps each instance, for logging, caching, retries. Several apply in the order given.
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

/** Disposes an instance in place of its own `Symbol.asyncDispose`, `Symbol.dispose` or `dispose()`. */
export const onDispose =
  <T>(cleanup: (instance: T) => unknown): Modifier<T> =>
  (recipe) => ({
    ...recipe,
    onDispose: [...(recipe.onDispose ?? []), { layer: recipe.decorators?.length ?? 0, act: cleanup }],
  });

/** Prepares an application singleton. `app.start()` calls these in dependency order; none of them may await `app.start()` itself. */
export const onStart =
  <T>(start: (instance: T) => unknown): Modifier<T> =>
  (recipe) => ({
    ...recipe,
    onStart: [...(recipe.onStart ?? []), { layer: recipe.decorators?.length ?? 0, act: start }],
  });
