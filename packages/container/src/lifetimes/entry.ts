import type { Declared, Modifier, Recipe, Registration } from '../registration.js';

/**
 * A service of a graph: how it is made, its lifetime and what it needs. Made by the functions of {@link lifetimes}; immutable.
 * The compiler checks its type parameters: the lifetimes, what is made, the keys it needs, and the parameters that receive them.
 *
 * @example
 * ```ts
 * class Clock { now() { return new Date(); } }
 * const { of, build } = lifetimes('application', 'request');
 * const clock = of('application', Clock); // an Entry
 * const app = build({ IClock: clock });
 * ```
 */
export class Entry<out Tag, out T, out Needs, out Takes> {
  /** Only in types: the four type parameters. */
  declare readonly is: readonly [Tag, T, Needs, Takes];

  /** @internal */
  constructor(
    /** Its lifetimes, its feature, and how it joins those of other features. */
    readonly declared: Declared,
    /** Undefined for a key that is registered directly on each scope. */
    readonly registration?: Registration<unknown>,
  ) {}

  /**
   * Applies modifiers, in order: `onStart`, `onDispose`, `decorate`, `externallyOwned`.
   *
   * @param a - the first modifier
   * @param b - the second
   * @param c - the third
   * @param d - the fourth
   * @returns the changed entry
   *
   * @example
   * ```ts
   * import { lifetimes, onStart } from '@ambit/container';
   * class Pool { connect() {} }
   * const { of } = lifetimes('application');
   * const pool = of('application', Pool).pipe(onStart((made) => made.connect()));
   * ```
   */
  pipe<A, B = A, C = B, D = C>(
    a: Modifier<T, A>,
    b?: Modifier<A, B>,
    c?: Modifier<B, C>,
    d?: Modifier<C, D>,
  ): Entry<Tag, D, Needs, Takes>;
  pipe(...modifiers: never[]): Entry<Tag, never, Needs, Takes> {
    return new Entry(this.declared, this.registration?.pipe(...(modifiers as Modifier<unknown>[])));
  }

  /**
   * Makes a new instance at each `resolve`, in place of one for each scope. The container does not dispose these.
   * @returns the changed entry
   */
  transient(): Entry<Tag, T, Needs, Takes> {
    const forget = (recipe: Recipe<T>): Recipe<T> => ({ ...recipe, singleton: undefined });
    return this.pipe(forget);
  }

  /**
   * Lets others know the service as a `U`, for example as an interface of its class.
   * @returns the same entry, with another type
   */
  as<U extends WiderThan<T, U>>(): Entry<Tag, U, Needs, Takes>;
  as(): unknown {
    return this;
  }

  /**
   * Replaces what an earlier feature has under the key.
   * @returns the changed entry
   */
  override(): Override<this> {
    return this.changed({ joining: 'override' }) as never;
  }

  /**
   * Adds to what an earlier feature has under the key: `all(key)` delivers both.
   * @returns the changed entry
   */
  also(): Also<this> {
    return this.changed({ joining: 'also' }) as never;
  }

  /** @internal The entry of this feature, unless it belongs to one already. */
  within(feature: string): this {
    return this.changed({ feature: this.declared.feature ?? feature });
  }

  // Not `with`: arrays have a public one, and an entry in one feature may be replaced by a list in another.
  private changed(changes: Partial<Declared>): this {
    return new Entry({ ...this.declared, ...changes }, this.registration) as this;
  }
}

/** The constraint of `U` where a service `T` is known as a `U`. */
type WiderThan<T, U> = [T] extends [U] ? unknown : Unfit<'the service does not fit', T, U>;

/**
 * The compiler prints it where a service does not fit: the problem, and both types. A conditional type, because the compiler prints its
 * result and not its name.
 */
export type Unfit<Problem, Delivers, Wanted> = [Problem] extends [string]
  ? Problem & { readonly delivers: Delivers; readonly wanted: Wanted }
  : never;

/** A second name for another key. */
export interface Alias<out K> {
  /** The other key. Only in types. */
  readonly aliasFor: K;
}

/** A name that stands for another key in each lifetime. */
export interface AliasByLifetime<Keys> extends Alias<Keys[keyof Keys]> {
  /** The keys by lifetime. Only in types. */
  readonly keys: Keys;
}

/** An entry that replaces the one of an earlier feature. */
export interface Override<out E> {
  /** The entry. Only in types. */
  readonly overriding: E;
}

/** An entry beside those of earlier features. */
export interface Also<out E> {
  /** The entry. Only in types. */
  readonly adding: E;
}

/** An entry of the optional feature `Own`, made by `when`. */
export interface Conditional<out E, out Own> {
  /** The entry, where the condition holds. Only in types. */
  readonly provided: E;
  /** All entries of the feature. Only in types. */
  readonly feature: Own;
}

/** Why a class has no list of keys, in place of the list. */
export interface NoList<out Why extends string> extends ReadonlyArray<never> {
  /** How to fix it. Only in types. */
  readonly noList: Why;
}
