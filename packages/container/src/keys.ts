/**
 * The services of your application and their types. Open for augmentation:
 *
 * @example
 * ```ts
 * interface Logger { info(line: string): void }
 * declare module '@ambit/container' {
 *   interface ServiceMap { ILogger: Logger }
 * }
 * ```
 */
export interface ServiceMap {}

/**
 * Stricter checks, each switched on by augmentation, next to that of `ServiceMap`. With `strictKeys`, a string key that `ServiceMap` does
 * not list is a compile error: `declare module '@ambit/container' { interface Settings { strictKeys: true } }`
 */
export interface Settings {}

/** Any class, abstract ones and those with typed constructors included. */
export type AbstractClass<T = unknown> = abstract new (...args: never[]) => T;

/** A class that can be instantiated. */
export type Class<T = unknown> = new (...args: never[]) => T;

/** The name of a service: a string, a symbol, or the class itself. */
export type Key = string | symbol | AbstractClass;

/** A key of a `T`, where `ServiceMap` does not list it. */
export type Keyed<T> = string | symbol | AbstractClass<T>;

/** A key that `ServiceMap` lists. */
export type KnownKey = keyof ServiceMap;

/** The key; with `strictKeys`, what is wrong with a string that `ServiceMap` does not list. */
export type Listed<K> = Settings extends { strictKeys: true }
  ? K extends KnownKey
    ? K
    : string extends K
      ? KnownKey
      : K extends string
        ? `'${K}' is not a key of ServiceMap`
        : K
  : K;

/**
 * A dependency of a constructor or a factory: one service, a function that resolves it later, all services of a key, or an optional one.
 */
export type Dependency = Key | Lazy | All | Optional;

/** A dependency that is more than a key: plain data, so that two copies of this package in one tree accept each other's. */
interface Marker<Kind extends string, K extends Key> {
  /** The form in which the services of the key are delivered. */
  readonly kind: Kind;
  /** The key of the services that it stands for. */
  readonly key: K;
}

/** Asks for a function that resolves the service when called. Made by {@link lazy}. */
export interface Lazy<out K extends Key = Key> extends Marker<'lazy', K> {}

/** Asks for every service registered under a key. Made by {@link all}. */
export interface All<out K extends Key = Key> extends Marker<'all', K> {}

/** Asks for a service, or `undefined` where none is registered. Made by {@link optional}. */
export interface Optional<out K extends Key = Key> extends Marker<'optional', K> {}

/**
 * Injects `() => service` in place of the service: it is resolved when the function is called, which lets two services depend on each other
 * without a circular dependency.
 *
 * @param key - the key of the service
 * @returns the dependency, for `@inject` or a list of keys
 *
 * @example
 * ```ts
 * class Parent {
 *   constructor(@inject(lazy('IChild')) private readonly child: () => unknown) {}
 *   greet() { return this.child(); }
 * }
 * ```
 */
export const lazy = <const K extends Key>(key: Listed<K>): Lazy<K> => ({ kind: 'lazy', key });

/**
 * Injects every service registered under the key, in the order of registration.
 *
 * @param key - the key of the services
 * @returns the dependency, for `@inject` or a list of keys
 *
 * @example
 * ```ts
 * class Checkout {
 *   constructor(@inject(all('IRule')) readonly rules: unknown[]) {}
 * }
 * ```
 */
export const all = <const K extends Key>(key: Listed<K>): All<K> => ({ kind: 'all', key });

/**
 * Injects the service, or `undefined` where no registration of the key is in reach. A class counts only if it is registered.
 *
 * @param key - the key of the service
 * @returns the dependency, for `@inject` or a list of keys
 *
 * @example
 * ```ts
 * class Users {
 *   constructor(@inject(optional('ICache')) private readonly cache?: unknown) {}
 *   cached() { return this.cache !== undefined; }
 * }
 * ```
 */
export const optional = <const K extends Key>(key: Listed<K>): Optional<K> => ({ kind: 'optional', key });

/** The form in which the key is asked for. */
export const kindOf = (dependency: Dependency | undefined): (Lazy | All | Optional)['kind'] | 'one' =>
  (typeof dependency === 'object' ? (dependency as Lazy | null)?.kind : undefined) ?? 'one';

/** The key that is asked for, in whatever way. */
export const keyOf = (dependency: Dependency | undefined): Key | undefined =>
  kindOf(dependency) === 'one' ? (dependency as Key | undefined) : (dependency as Lazy).key;

/** The type that a dependency delivers; `unknown` for a key that `ServiceMap` does not list. */
export type Delivered<D> = Given<D, unknown>;

type Given<D, Unlisted> =
  D extends Lazy<infer K>
    ? () => Given<K, Unlisted>
    : D extends All<infer K>
      ? Given<K, Unlisted>[]
      : D extends Optional<infer K>
        ? Given<K, Unlisted> | undefined
        : D extends KnownKey
          ? ServiceMap[D]
          : D extends AbstractClass<infer T>
            ? T
            : Unlisted;

/** The compiler prints it where a service does not fit. */
export interface Mismatch<Problem extends string, Delivers, Wanted> {
  /** The dependency that does not fit, and where. */
  readonly problem: Problem;
  /** The type that is delivered. */
  readonly delivers: Delivers;
  /** The type that is accepted there. */
  readonly wanted: Wanted;
}

/** A key in the text of a compile error. */
export type Shown<D> =
  D extends Lazy<infer K>
    ? `lazy(${Shown<K>})`
    : D extends All<infer K>
      ? `all(${Shown<K>})`
      : D extends Optional<infer K>
        ? `optional(${Shown<K>})`
        : D extends string
          ? `'${D}'`
          : D extends symbol
            ? 'a symbol key'
            : 'a class key';

/**
 * `Good` where the dependency fits the wanted type, otherwise the text of what is wrong. `never` fits everywhere: nothing is known of an
 * unlisted key.
 */
export type Fitting<D, Wanted, Target extends string, Good> = [Given<D, never>] extends [Wanted]
  ? Good
  : Mismatch<`${Shown<D>} does not fit ${Target}`, Delivered<D>, Wanted>;

type At<P extends readonly unknown[], I> = I extends `${infer N extends number}` ? P[N] : P[number];

/** {@link Listed} in a list, where the compiler would print two strings that differ as `never`. */
type ListedAt<K> = [K] extends [Listed<K>] ? K : { readonly problem: Listed<K> };

/** The dependencies of a class, each checked against the parameter at its position. */
type Checked<D extends readonly Dependency[], P extends readonly unknown[]> = {
  readonly [I in keyof D]: Fitting<D[I], At<P, I>, `parameter ${I & string}`, ListedAt<D[I]>>;
};

/** The parameters without those that may be left out. */
type Needed<P extends readonly unknown[]> = P extends readonly [unknown, ...infer Rest]
  ? [unknown, ...Needed<Rest>]
  : [];

/** The list itself, or what is wrong with it: a parameter without a key, a key without a parameter, a wrong service at a position. */
export type CheckedList<D extends readonly Dependency[], P extends readonly unknown[]> = D extends readonly [
  ...Needed<P>,
  ...unknown[],
]
  ? D['length'] extends Partial<P>['length']
    ? Checked<D, P>
    : Mismatch<`there is no parameter ${Required<P>['length']}`, D, P>
  : Mismatch<`parameter ${D['length']} has no key`, D, P>;

/** The class itself, or what is wrong with its `static inject`. */
export type CheckedStatic<C extends Class> = C extends { readonly inject: infer D extends readonly Dependency[] }
  ? number extends D['length']
    ? C
    : [D] extends [CheckedList<D, ConstructorParameters<C>>]
      ? C
      : { readonly inject: CheckedList<D, ConstructorParameters<C>> }
  : C;

/** The types of `inject` on a class that does not list its keys with it. */
export type NotAList = string | number | boolean | ((...args: never[]) => unknown) | undefined;

/** The key, if what a registration makes fits it. */
export type KeyFor<K, T> = K extends KnownKey | AbstractClass
  ? [T] extends [Delivered<K>]
    ? K
    : Mismatch<`it does not fit ${Shown<K>}`, T, Delivered<K>>
  : Listed<K>;

/** The list itself; with `strictKeys`, what is wrong with its keys. */
export type ListedKeys<D extends readonly Dependency[]> = { readonly [I in keyof D]: ListedAt<D[I]> };

/** The parameters of a factory with this list. */
export type Deliveries<D extends readonly Dependency[]> = { [I in keyof D]: Delivered<D[I]> };
