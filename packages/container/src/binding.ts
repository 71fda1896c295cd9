import type { Factory, IContainer } from './contract.js';
import type { AbstractClass, Dependency, Key } from './keys.js';

/** What a scope predicate sees of a scope. */
export interface Tagged {
  /**
   * Whether the scope itself has the tag.
   *
   * @param tag - the tag, such as `request`
   * @returns true if it has
   */
  hasTag(tag: string): boolean;
}

/** Whether a registration applies in a scope. It sees the tags only, and runs once for each kind of scope, not at each `resolve`. */
export type ScopePredicate = (scope: Tagged) => boolean;

/** Where the instances come from. */
type Source =
  | { readonly kind: 'class'; readonly target: AbstractClass }
  | { readonly kind: 'factory'; readonly make: (...needs: never[]) => unknown }
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'alias' }
  | { readonly kind: 'register'; factory?: Factory };

/** A callback for an instance; `layer` says how many decorators had wrapped it. */
interface Hook {
  readonly layer: number;
  readonly act: (instance: never, reason: unknown) => unknown;
}

/** What a graph says of one of its entries. */
export interface Declared {
  /** The tags of the scopes in which it is available; undefined for an alias of one key. */
  readonly lifetimes?: readonly string[] | undefined;
  /** The name of the feature that has the entry. */
  readonly feature?: string | undefined;
  /** How it joins what an earlier feature has under the key. */
  readonly joining?: 'override' | 'also' | undefined;
}

/** A registration before it has a key: plain data, changed by modifiers. `T` is what it makes. */
export interface Recipe<out T = unknown> {
  /** Where the instances come from: a class, a factory, a value or another key. */
  readonly source: Source;
  /** The keys of the parameters, where the registration lists them. */
  readonly needs?: readonly Dependency[] | undefined;
  /** The owning scope keeps the instance; otherwise each `resolve` makes one. */
  readonly singleton?: boolean | undefined;
  /** The container does not dispose the instances. */
  readonly externallyOwned?: true | undefined;
  /** It may keep what an inner scope has again, or be what an outer service does not get: set by `allowSplit()`. */
  readonly allowSplit?: true | undefined;
  /** The scopes in which it applies; undefined where that is the scope it was added to and those below. */
  readonly when?: ScopePredicate | undefined;
  /** What wraps each instance, in this order. */
  readonly decorators?: readonly ((inner: never, scope: IContainer) => unknown)[] | undefined;
  /** What disposes an instance, in place of its own disposer. */
  readonly onDispose?: readonly Hook[] | undefined;
  /** What `start()` calls with an instance. */
  readonly onStart?: readonly Hook[] | undefined;
  /** Set by `override()` of `@ambit/container/tools`: it wins over all others of the key. */
  readonly override?: symbol | undefined;
  /** What a graph of `lifetimes()` says of it. */
  readonly declared?: Declared | undefined;
  /** Only in types: what the recipe makes. */
  readonly makes?: T;
}

/** A registration bound to its key, ready for `addRegistration`. */
export interface Binding extends Recipe {
  /** What the service is resolved by. */
  readonly key: Key;
}

/** A new binding. All have the same properties, which makes them fast to read. */
export const bound = (recipe: Recipe, key: Key): Binding => ({
  key,
  source: recipe.source,
  needs: recipe.needs,
  singleton: recipe.singleton,
  externallyOwned: recipe.externallyOwned,
  allowSplit: recipe.allowSplit,
  when: recipe.when,
  decorators: recipe.decorators,
  onDispose: recipe.onDispose,
  onStart: recipe.onStart,
  override: recipe.override,
  declared: recipe.declared,
});

/** Turns one recipe into another; `A` is what it made before, `B` what it makes after. */
export type Modifier<A, B = A> = (recipe: Recipe<A>) => Recipe<B>;
