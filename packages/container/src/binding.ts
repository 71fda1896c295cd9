import type { Factory, IContainer } from './contract.js';
import type { AbstractClass, Dependency, Key } from './keys.js';

/** What a scope predicate sees of a scope. */
export interface Tagged {
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
  readonly act: (instance: never) => unknown;
}

/** What a graph says of one of its entries. */
export interface Declared {
  /** The tag of the scopes in which it is available; undefined for an alias. */
  readonly lifetime?: string | undefined;
  readonly feature?: string | undefined;
  /** How it joins what an earlier feature has under the key. */
  readonly joining?: 'override' | 'also' | undefined;
}

/** A registration before it has a key: plain data, changed by modifiers. `T` is what it makes. */
export interface Recipe<out T = unknown> {
  readonly source: Source;
  readonly needs?: readonly Dependency[] | undefined;
  readonly singleton?: boolean | undefined;
  /** The container does not dispose the instances. */
  readonly externallyOwned?: true | undefined;
  readonly when?: ScopePredicate | undefined;
  readonly decorators?: readonly ((inner: never, scope: IContainer) => unknown)[] | undefined;
  readonly onDispose?: readonly Hook[] | undefined;
  readonly onStart?: readonly Hook[] | undefined;
  readonly override?: symbol | undefined;
  readonly declared?: Declared | undefined;
  /** Only in types: what the recipe makes. */
  readonly makes?: T;
}

/** A registration bound to its key, ready for `addRegistration`. */
export interface Binding extends Recipe {
  readonly key: Key;
}

/** A new binding. All have the same properties, which makes them fast to read. */
export const bound = (recipe: Recipe, key: Key): Binding => ({
  key,
  source: recipe.source,
  needs: recipe.needs,
  singleton: recipe.singleton,
  externallyOwned: recipe.externallyOwned,
  when: recipe.when,
  decorators: recipe.decorators,
  onDispose: recipe.onDispose,
  onStart: recipe.onStart,
  override: recipe.override,
  declared: recipe.declared,
});

/** Turns one recipe into another; `A` is what it made before, `B` what it makes after. */
export type Modifier<A, B = A> = (recipe: Recipe<A>) => Recipe<B>;
