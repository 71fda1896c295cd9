import { refuse, show } from '../errors.js';
import type { Factory } from '../contract.js';
import {
  all,
  lazy,
  optional,
  type All,
  type Class,
  type Dependency,
  type Key,
  type Lazy,
  type Optional,
} from '../keys.js';
import { Registration, scope, singleton } from '../registration.js';
import type { Checked, CheckedFeature } from './checked.js';
import { absent, composed, named, type Composition } from './composition.js';
import { Entry, type Alias, type AliasByLifetime, type Conditional } from './entry.js';
import type { OwnList, Outlasting } from './needs.js';

/** The condition's type where it holds. */
type Truthy<C> = Exclude<C, undefined | null | false | 0 | 0n | ''>;

/** The functions that make the entries of a graph, and the graph. `Tags` are its lifetimes, the longest first. */
export interface Lifetimes<Tags extends readonly string[]> {
  /**
   * A class, of which each scope of the lifetime keeps one instance. With several lifetimes, each scope of one of them keeps its own, made
   * from what that scope has.
   * @param lifetime - the tag of the scopes, or the tags
   * @param target - the class
   * @param needs - the keys of its constructor parameters; without it, those of its `static inject`
   * @returns the entry
   */
  of<const Tag extends Tags[number], C extends Class, const Needs extends readonly Dependency[] = OwnList<C>>(
    this: void,
    lifetime: Tag | readonly Tag[],
    target: C,
    needs?: Needs,
  ): Entry<Tag, InstanceType<C>, Needs, ConstructorParameters<C>>;

  /**
   * A factory, of whose results each scope of the lifetime keeps one. It names the types of its parameters.
   * @param lifetime - the tag of the scopes, or the tags
   * @param factory - makes the service from those it needs; without `needs`, from the scope
   * @param needs - the keys of its parameters
   * @returns the entry
   */
  make<const Tag extends Tags[number], T>(
    this: void,
    lifetime: Tag | readonly Tag[],
    factory: Factory<T>,
  ): Entry<Tag, T, [], []>;
  make<const Tag extends Tags[number], T, Takes extends readonly unknown[], const Needs extends readonly Dependency[]>(
    this: void,
    lifetime: Tag | readonly Tag[],
    factory: (...needs: Takes) => T,
    needs: Needs,
  ): Entry<Tag, T, Needs, Takes>;

  /**
   * A value that exists already. The code that made it disposes it.
   * @param value - the value, available in all scopes
   * @returns the entry
   */
  value<T>(this: void, value: T): Entry<Tags[0], T, [], []>;

  /**
   * A second name for another key, or for another key in each lifetime: with
   * `alias({ request: 'IDatabasePool', transaction: 'IConnection' })` a service of both lifetimes needs one key.
   * @param key - the other key, or the keys by lifetime
   * @returns the entry
   */
  alias<const K extends string | symbol | { readonly [Tag in Tags[number]]?: string | symbol }>(
    this: void,
    key: K,
  ): K extends string | symbol ? Alias<K> : AliasByLifetime<K>;

  /**
   * A key that each scope gets when it is opened: by `scope.register(key, ...)`, or as one of its `services`, like `IRequestSignal` of hosts.
   * @param lifetime - the tag of the scopes, or the tags
   * @returns what takes its type: `registered('request').as<AbortSignal>()`
   */
  registered<const Tag extends Tags[number]>(
    this: void,
    lifetime: Tag | readonly Tag[],
  ): { as<T>(): Entry<Tag, T, [], []> };

  /**
   * Asks for a function that resolves the key: `lazy(key)`, checked by the graph and not by `ServiceMap`, which may follow from the graph.
   *
   * @param key - a key of the graph
   * @returns the dependency, for a list of keys
   */
  lazy<const K extends string | symbol>(this: void, key: K): Lazy<K>;

  /**
   * Asks for every service of the key: `all(key)`, checked by the graph and not by `ServiceMap`, which may follow from the graph.
   *
   * @param key - a key of the graph
   * @returns the dependency, for a list of keys
   */
  all<const K extends string | symbol>(this: void, key: K): All<K>;

  /**
   * Asks for the service, or `undefined`: `optional(key)`, checked by the graph and not by `ServiceMap`, which may follow from the graph.
   *
   * @param key - a key of the graph
   * @returns the dependency, for a list of keys
   */
  optional<const K extends string | symbol>(this: void, key: K): Optional<K>;

  /**
   * A part of the graph, with a name that `explain` and the graph show. The compiler checks it against what it requires, so that an error
   * is at the key that is wrong.
   * @param name - the name of the feature
   * @param entries - the entries by key
   * @param requires - the features that have the keys which this one needs or replaces, or the functions that make those
   * @returns the same entries, with the name
   */
  feature<const F extends object, const Features extends readonly object[]>(
    this: void,
    name: string,
    entries: CheckedFeature<F, Features, Outlasting<Tags>>,
    ...requires: Features
  ): F;

  /**
   * An optional feature. Where the condition does not hold, each of its keys delivers `undefined`, and it replaces and adds nothing.
   * A service that needs one of its keys accepts `undefined`, unless it is in the same feature.
   * @param condition - whether the feature is in the graph: any value, of which only its truth counts
   * @param feature - the feature, or a function that receives an entry with the condition's value and returns the feature; the function is
   *   called in any case
   * @returns the entries of the feature, each of which may be missing
   */
  when<C, const F extends object>(
    this: void,
    condition: C,
    feature: F | ((value: Entry<Tags[0], Truthy<C>, [], []>) => F),
  ): { readonly [K in keyof F]: Conditional<F[K], F> };

  /**
   * The graph of all features, checked by the compiler: keys that are not registered, services that do not fit, captive dependencies,
   * keys that two features register. Each is an error at the key that is wrong.
   *
   * @param a - the entries of the first feature by key
   * @param b - those of the second
   * @param c - those of the third
   * @param d - those of the fourth
   * @param e - those of the fifth
   * @param f - those of the sixth
   * @param g - those of the seventh
   * @param h - those of the eighth
   * @returns the registrations for a container, and what checks and replaces them
   * @throws `ContainerError` `AMBIT_BAD_REGISTRATION`: something under a key is no entry
   */
  build<
    const A extends object,
    const B = unknown,
    const C = unknown,
    const D = unknown,
    const E = unknown,
    const F = unknown,
    const G = unknown,
    const H = unknown,
  >(
    this: void,
    a: Checked<A, A & B & C & D & E & F & G & H, Outlasting<Tags>, never>,
    b?: Checked<B, A & B & C & D & E & F & G & H, Outlasting<Tags>, keyof A>,
    c?: Checked<C, A & B & C & D & E & F & G & H, Outlasting<Tags>, keyof (A & B)>,
    d?: Checked<D, A & B & C & D & E & F & G & H, Outlasting<Tags>, keyof (A & B & C)>,
    e?: Checked<E, A & B & C & D & E & F & G & H, Outlasting<Tags>, keyof (A & B & C & D)>,
    f?: Checked<F, A & B & C & D & E & F & G & H, Outlasting<Tags>, keyof (A & B & C & D & E)>,
    g?: Checked<G, A & B & C & D & E & F & G & H, Outlasting<Tags>, keyof (A & B & C & D & E & F)>,
    h?: Checked<H, A & B & C & D & E & F & G & H, Outlasting<Tags>, keyof (A & B & C & D & E & F & G)>,
  ): Composition<A & B & C & D & E & F & G & H, Tags>;
}

/**
 * Starts a graph that the compiler checks as a whole. It makes ordinary registrations, so both styles mix in one container.
 * @param tags - the tags of the scopes, the outermost first, each within the one before
 * @returns the functions for the entries of the graph, and `build`
 * @throws `ContainerError` `AMBIT_BAD_REGISTRATION`: a tag is there twice
 *
 * @example
 * ```ts
 * import { Container, lifetimes } from '@ambit/container';
 * class Pool {
 *   url: string;
 *   constructor(url: string) { this.url = url; }
 * }
 * class Users {
 *   pool: Pool;
 *   constructor(pool: Pool) { this.pool = pool; }
 * }
 * const { of, make, value, build } = lifetimes('application', 'request');
 * const app = build({
 *   url: value('postgres://localhost'),
 *   IPool: make('application', (url: string) => new Pool(url), ['url']),
 *   IUsers: of('request', Users, ['IPool']),
 * });
 * const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
 * ```
 */
export function lifetimes<const Tags extends readonly [string, ...string[]]>(...tags: Tags): Lifetimes<Tags> {
  if (new Set(tags).size < tags.length) refuse(`lifetimes got ${tags.map(show).join(', ')}`, 'name each tag once');
  const declared = (lifetime: string | readonly string[], registration?: Registration<unknown>) => {
    const asked = [lifetime].flat();
    const unknown = asked.find((tag) => !tags.includes(tag));
    if (unknown !== undefined || !asked[0])
      refuse(`The lifetime ${show(unknown)} is unknown`, `use one of ${tags.map(show).join(', ')}`);
    // A service of the outermost lifetime applies wherever it is added.
    const applies = asked.every((tag) => tag === tags[0]) ? [] : [scope((at) => asked.some((tag) => at.hasTag(tag)))];
    return new Entry({ lifetimes: asked }, registration?.pipe(...applies));
  };
  const value = (ready: unknown) => declared(tags[0], Registration.fromValue(ready));
  return {
    of: (lifetime: string, target: Class, needs?: never) =>
      declared(lifetime, Registration.fromClass(target, needs as never).pipe(singleton())),
    make: (lifetime: string, factory: () => unknown, needs?: never) =>
      declared(lifetime, Registration.fromFactory(factory, needs as never).pipe(singleton())),
    value,
    alias: (key: Key | Readonly<Record<string, string>>) => {
      if (typeof key !== 'object') return new Entry({}, Registration.alias(key as string));
      const entries = Object.entries(key).map(([tag, other]) => declared(tag, Registration.alias(other)));
      return entries[0] ? entries : declared([]);
    },
    registered: (lifetime: string) => declared(lifetime),
    lazy,
    all,
    optional,
    feature: named,
    when: (condition: unknown, feature: object | ((entry: object) => object)) => {
      const entries = typeof feature === 'function' ? feature(value(condition)) : feature;
      return condition ? entries : absent(entries);
    },
    build: (...features: object[]) => composed(tags, features),
  } as never;
}
