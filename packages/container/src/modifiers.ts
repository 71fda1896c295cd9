import { checkFunction } from './checks.js';
import type { IContainer } from './contract.js';
import type { Modifier, Recipe, ScopePredicate } from './registration.js';

/** One instance per owner. Without it every `resolve` makes a new one. */
export const singleton = (): (<T>(recipe: Recipe<T>) => Recipe<T>) => (recipe) => ({ ...recipe, singleton: true });

/** Only in scopes whose tags satisfy the predicate; the nearest such scope owns the instance. */
export const scope =
  (predicate: ScopePredicate): (<T>(recipe: Recipe<T>) => Recipe<T>) =>
  (recipe) => {
    checkFunction(predicate, 'scope', "a predicate: scope(hasTag('request'))");
    const { when } = recipe;
    return { ...recipe, when: when ? (tagged) => when(tagged) && predicate(tagged) : predicate };
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
