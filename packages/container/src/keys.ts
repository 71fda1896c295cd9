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

/** Any class, abstract ones and those with typed constructors included. */
export type AbstractClass<T = unknown> = abstract new (...args: never[]) => T;

/** A class that can be instantiated. */
export type Class<T = unknown> = new (...args: never[]) => T;

/** What a service is known by: a string, a symbol, or the class itself. */
export type Key = string | symbol | AbstractClass;

/** A key that `ServiceMap` lists. */
export type KnownKey = keyof ServiceMap;

/** What a constructor or a factory may ask for: one service, a way to get it later, or all of a key. */
export type Dependency = Key | Lazy | All;

/** Asks for a function that resolves the service when called. Made by {@link lazy}. */
export class Lazy<out K extends Key = Key> {
  readonly later = true;
  constructor(readonly key: K) {}
}

/** Asks for every service registered under a key. Made by {@link all}. */
export class All<out K extends Key = Key> {
  readonly every = true;
  constructor(readonly key: K) {}
}

/**
 * Injects `() => service` in place of the service: it is resolved when the function is called, which lets two services need each other.
 *
 * @example
 * ```ts
 * class Parent {
 *   constructor(@inject(lazy('IChild')) private readonly child: () => unknown) {}
 *   greet() { return this.child(); }
 * }
 * ```
 */
export const lazy = <const K extends Key>(key: K): Lazy<K> => new Lazy(key);

/**
 * Injects every service registered under the key, in the order of registration.
 *
 * @example
 * ```ts
 * class Checkout {
 *   constructor(@inject(all('IRule')) readonly rules: unknown[]) {}
 * }
 * ```
 */
export const all = <const K extends Key>(key: K): All<K> => new All(key);

/** The key that is asked for, be it later or with all others of it. */
export const keyOf = (dependency: Dependency | undefined): Key | undefined =>
  dependency instanceof Lazy || dependency instanceof All ? dependency.key : dependency;

/** What a dependency delivers; `unknown` for a key that `ServiceMap` does not list. */
export type Delivered<D> = Given<D, unknown>;

type Given<D, Unlisted> =
  D extends Lazy<infer K>
    ? () => Given<K, Unlisted>
    : D extends All<infer K>
      ? Given<K, Unlisted>[]
      : D extends KnownKey
        ? ServiceMap[D]
        : D extends AbstractClass<infer T>
          ? T
          : Unlisted;

/** What the compiler prints where a service and its place do not fit. */
export interface Mismatch<Problem extends string, Delivers, Wanted> {
  readonly problem: Problem;
  readonly delivers: Delivers;
  readonly wanted: Wanted;
}

/** A key in the text of a compile error. */
export type Shown<D> =
  D extends Lazy<infer K>
    ? `lazy(${Shown<K>})`
    : D extends All<infer K>
      ? `all(${Shown<K>})`
      : D extends string
        ? `'${D}'`
        : D extends symbol
          ? 'a symbol key'
          : 'a class key';

/** `Good` where the dependency fits the wanted type, otherwise the text of what is wrong. `never` fits everywhere: nothing is known of an unlisted key. */
export type Fitting<D, Wanted, Place extends string, Good> = [Given<D, never>] extends [Wanted]
  ? Good
  : Mismatch<`${Shown<D>} does not fit ${Place}`, Delivered<D>, Wanted>;
