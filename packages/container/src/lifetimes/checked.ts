import type { All, Dependency, Lazy, Mismatch, Optional, Shown } from '../keys.js';
import type { Alias, AliasByLifetime, Also, Entry, NoList, Override } from './entry.js';

/** For each lifetime, an object whose keys are those that are as long or longer: `keyof` a union of them has those that all have. */
export type Outlasting<Tags, Longer = unknown> = Tags extends readonly [infer Tag extends string, ...infer Shorter]
  ? { [K in Tag]: Longer & { [L in Tag]: L } } & Outlasting<Shorter, Longer & { [L in Tag]: L }>
  : unknown;

/** What the key delivers: of several registrations, any of theirs. */
export type ServiceOf<G, K> = K extends keyof G
  ? G[K] extends Entry<unknown, infer T, unknown, unknown>
    ? T
    : G[K] extends Alias<infer Other>
      ? ServiceOf<G, Other>
      : G[K] extends readonly Entry<unknown, infer T, unknown, unknown>[]
        ? T
        : never
  : never;

/** The lifetime of the key: of several registrations, all of theirs. */
type LifetimeOf<G, K> = K extends keyof G
  ? G[K] extends Also<Entry<infer More, unknown, unknown, unknown>>
    ? More | OwnLifetime<G, G[K]>
    : OwnLifetime<G, G[K]>
  : never;
type OwnLifetime<G, N> =
  N extends Entry<infer Tag, unknown, unknown, unknown>
    ? Tag
    : N extends AliasByLifetime<infer Keys>
      ? keyof Keys
      : N extends Alias<infer Other>
        ? LifetimeOf<G, Other>
        : N extends readonly Entry<infer Tag, unknown, unknown, unknown>[]
          ? Tag
          : never;

/** What a list of keys delivers. */
type Delivered<G, Needs> = { -readonly [I in keyof Needs]: DeliveredAt<G, Needs[I]> };
type DeliveredAt<G, D> = D extends keyof G
  ? ServiceOf<G, D>
  : D extends Lazy<infer K>
    ? () => ServiceOf<G, K>
    : D extends All<infer K>
      ? ServiceOf<G, K>[]
      : D extends Optional<infer K>
        ? ServiceOf<G, K> | undefined
        : never;

type NotRegistered<K> = `${Shown<K>} is not registered`;

/** The text for a key that no scope as long as its dependent delivers, for each lifetime of that; otherwise never. */
type Captive<G, K, Tag, Longer> = Tag extends keyof Longer
  ? [LifetimeOf<G, K> & keyof Longer[Tag]] extends [never]
    ? `captive dependency: ${Shown<K>} is ${LifetimeOf<G, K> & string}-scoped, and is disposed before this ${Tag & string} service`
    : never
  : never;

/** What is wrong with the keys of a list, apart from their types; never where nothing is. */
type KeyProblems<G, Needs, Tag, Longer> = {
  [I in keyof Needs]: KeyProblem<G, Needs[I], Tag, Longer>;
}[keyof Needs & number];

type KeyProblem<G, D, Tag, Longer> = D extends keyof G
  ? Captive<G, D, Tag, Longer>
  : D extends Lazy<infer K>
    ? K extends keyof G
      ? Captive<G, K, Tag, Longer>
      : NotRegistered<K>
    : D extends Optional<infer K>
      ? K extends keyof G
        ? Captive<G, K, Tag, Longer>
        : never
      : D extends All<infer K>
        ? // It delivers what there is, but an alias is always there, so that its key has to be, too.
          K extends keyof G
          ? G[K] extends Alias<infer Other>
            ? KeyProblem<G, Other, Tag, Longer>
            : never
          : never
        : D extends abstract new (...args: never[]) => unknown
          ? 'a class is not a key of a graph: register it under a name'
          : NotRegistered<D>;

type At<P, I> = P extends readonly unknown[] ? (I extends `${infer N extends number}` ? P[N] : P[number]) : never;

/** The parameters without those that may be left out. */
type Mandatory<P> = P extends readonly [unknown, ...infer Rest] ? [unknown, ...Mandatory<Rest>] : [];

/** Why the services of a list do not fit the parameters. */
type Misfit<Services, Needs, P> = P extends readonly unknown[]
  ? Services extends readonly [...Mandatory<P>, ...unknown[]]
    ? Services['length'] extends Partial<P>['length']
      ? MisfitAt<Services, Needs, P>
      : `there is no parameter ${Required<P>['length'] & number}`
    : Services extends readonly unknown[]
      ? `parameter ${Services['length'] & number} has no key`
      : never
  : never;

type MisfitAt<Services, Needs, P> = {
  [I in keyof Needs]: Services[I & keyof Services] extends At<P, I>
    ? never
    : Mismatch<`${Shown<Needs[I]>} does not fit parameter ${I & string}`, Services[I & keyof Services], At<P, I>>;
}[keyof Needs & number];

/** The entry itself, or what is wrong with what it needs. */
type CheckedEntry<G, E, Longer> =
  E extends Entry<infer Tag, unknown, infer Needs, infer Takes>
    ? Needs extends NoList<infer Why>
      ? Why
      : [KeyProblems<G, Needs, Tag, Longer>] extends [never]
        ? Delivered<G, Needs> extends Takes
          ? E
          : Misfit<Delivered<G, Needs>, Needs, Takes>
        : KeyProblems<G, Needs, Tag, Longer>
    : 'not an entry of a graph: make it with of, make, value, alias or registered';

/** What joins the entries of an earlier feature, if what it makes fits what is known under the key. */
type Joined<G, K, E, Longer, Earlier, Good> = K extends Earlier
  ? CheckedEntry<G, E, Longer> extends E
    ? E extends Entry<unknown, infer T, unknown, unknown>
      ? [T] extends [ServiceOf<G, K>]
        ? Good
        : Mismatch<`it does not fit ${Shown<K>}`, T, ServiceOf<G, K>>
      : never
    : CheckedEntry<G, E, Longer>
  : `${Shown<K>} is not registered by an earlier feature`;

/** One of the entries `Group` that replace others, if they have all lifetimes of those: what holds one counts on that. */
type Replacing<G, K, E, Group, Longer, Earlier, Good> = [LifetimeOf<G, K>] extends [OwnLifetime<G, Group>]
  ? Joined<G, K, E, Longer, Earlier, Good>
  : `${Shown<K>} is ${LifetimeOf<G, K> & string}-scoped: what replaces it must be so, too`;

/** One value of a feature object: itself, or what is wrong with it. */
type CheckedAt<G, K, N, Longer, Earlier> =
  N extends Override<infer E>
    ? Replacing<G, K, E, E, Longer, Earlier, N>
    : N extends Also<infer E>
      ? Joined<G, K, E, Longer, Earlier, N>
      : N extends readonly Override<infer Group>[]
        ? {
            readonly [I in keyof N]: N[I] extends Override<infer E>
              ? Replacing<G, K, E, Group, Longer, Earlier, N[I]>
              : never;
          }
        : K extends Earlier
          ? `an earlier feature registers ${Shown<K>}: say .override() to replace it, or .also() to add to it`
          : N extends AliasByLifetime<infer Keys>
            ? [AliasProblems<G, Keys, Longer>] extends [never]
              ? N
              : AliasProblems<G, Keys, Longer>
            : N extends Alias<infer Other>
              ? Other extends keyof G
                ? N
                : NotRegistered<Other>
              : N extends readonly unknown[]
                ? { readonly [I in keyof N]: CheckedEntry<G, N[I], Longer> }
                : CheckedEntry<G, N, Longer>;

/** What is wrong with the keys that a name stands for by lifetime; never where nothing is. */
type AliasProblems<G, Keys, Longer> = {
  [Tag in keyof Keys]: Tag extends keyof Longer
    ? KeyProblem<G, Keys[Tag], Tag, Longer>
    : `${Shown<Tag>} is no lifetime`;
}[keyof Keys];

/** The entries of a list of plain keys; undefined fits none. */
type Given<G, Needs> = { -readonly [I in keyof Needs]: Needs[I] extends keyof G ? G[Needs[I]] : undefined };

/** The entries that fit the parameters, with a lifetime that each lifetime of their dependent allows. */
type Wanted<Takes, Longer> = { [I in keyof Takes]: Entry<Longer, Takes[I], unknown, unknown> };

/** Whether one comparison passes the entry, which it does for most; the others are looked at key by key. */
type Passes<G, K, N, Longer, Earlier> = K extends Earlier
  ? false
  : N extends Entry<infer Tag, unknown, infer Needs, infer Takes>
    ? Given<G, Needs> extends Wanted<Takes, keyof Longer[Tag & keyof Longer]>
      ? true
      : false
    : false;

/** The feature object `F` of the graph `G`, with the text of what is wrong at each key that is wrong. */
export type Checked<F, G, Longer, Earlier> = {
  readonly [K in keyof F]: Passes<G, K, F[K], Longer, Earlier> extends true
    ? F[K]
    : // Behind `infer`, where the compiler does not look for what `F` is.
      [CheckedAt<G, K, F[K], Longer, Earlier>] extends [infer Verdict]
      ? Verdict
      : never;
};

/** Replacements of services of the graph, each checked like the rest of it. */
export type CheckedReplacements<R, G, Longer> = {
  readonly [K in keyof R]: Replacing<G, K, R[K], R[K], Longer, keyof G, R[K]>;
};

/** The list that a class has with `static inject`; none is needed without parameters. */
export type OwnList<C> = C extends { readonly inject: infer Needs extends readonly Dependency[] }
  ? number extends Needs['length']
    ? NoList<'add `as const` to its static inject'>
    : Needs
  : C extends new () => unknown
    ? []
    : NoList<'list the keys of its parameters: of(lifetime, Class, [keys])'>;
