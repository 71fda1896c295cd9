import type { Modifier, Recipe, ScopePredicate } from './binding.js';
import type { IContainer } from './contract.js';
import { checkFunction } from './errors.js';

/** One instance per owner. Without it every `resolve` makes a new one. */
export const singleton = (): (<T>(recipe: Recipe<T>) => Recipe<T>) => (recipe) => ({ ...recipe, singleton: true });

/**
 * Somebody else disposes the instances: the container does not call their `Symbol.asyncDispose`, `Symbol.dispose` or `dispose()`.
 * An `onDispose` of the registration is called as ever.
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

/** Only in scopes whose tags satisfy the predicate; the nearest such scope owns the instance. */
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

/** A predicate: true when the scope carries the tag. */
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

/** Ends an instance in place of its own `Symbol.asyncDispose`, `Symbol.dispose` or `dispose()`. */
export const onDispose =
  <T>(end: (instance: T) => unknown): Modifier<T> =>
  (recipe) => ({
    ...recipe,
    onDispose: [...(recipe.onDispose ?? []), { layer: recipe.decorators?.length ?? 0, act: end }],
  });

/** Readies an application singleton; `await app.start()` runs these in dependency order, so none of them may await that. */
export const onStart =
  <T>(start: (instance: T) => unknown): Modifier<T> =>
  (recipe) => ({
    ...recipe,
    onStart: [...(recipe.onStart ?? []), { layer: recipe.decorators?.length ?? 0, act: start }],
  });
