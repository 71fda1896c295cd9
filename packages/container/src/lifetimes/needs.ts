import type { All, Dependency, Lazy, Optional, Shown } from '../keys.js';
import type { Alias, AliasByLifetime, Also, Conditional, Entry, NoList, Unfit } from './entry.js';

// Does a service get what it needs? Each result is the entry itself, or the text of what is wrong.

/** Only in types: a feature is checked against what it requires, not against the whole graph. */
declare const requiring: unique symbol;
/** A feature with what it requires, in place of the whole graph. */
export interface Requiring {
  readonly [requiring]?: never;
}

type NotRegistered<G, K> = G extends Requiring
  ? `${Shown<K>} is not registered: neither this feature has it nor one that it requires`
  : `${Shown<K>} is not registered`;

/** The problems of the keys of a list, apart from their types; never where there are none. */
type KeyProblems<G, Needs, Tag, Longer> = {
  [I in keyof Needs]: KeyProblem<G, Needs[I], Tag, Longer>;
}[keyof Needs & number];

type KeyProblem<G, D, Tag, Longer> = D extends keyof G
  ? Captive<G, D, Tag, Longer>
  : D extends Lazy<infer K>
    ? K extends keyof G
      ? Captive<G, K, Tag, Longer>
      : NotRegistered<G, K>
    : D extends Optional<infer K>
      ? K extends keyof G
        ? Captive<G, K, Tag, Longer>
        : never
      : D extends All<infer K>
        ? K extends keyof G
          ? G[K] extends Alias<infer Other>
            ? KeyProblem<G, Other, Tag, Longer>
            : never
          : never
        : D extends abstract new (...args: never[]) => unknown
          ? 'a class is not a key of a graph: register it under a name'
          : NotRegistered<G, D>;

type At<P, I> = P extends readonly unknown[] ? (I extends `${infer N extends number}` ? P[N] : P[number]) : never;

/** The parameters without those that may be left out. */
type Mandatory<P> = P extends readonly [unknown, ...infer Rest] ? [unknown, ...Mandatory<Rest>] : [];

/** The reason why the services of a list do not fit the parameters. */
type Misfit<Services, Needs, P> = P extends readonly unknown[]
  ? Services extends readonly [...Mandatory<P>, ...unknown[]]
    ? MisfitOfMany<Services, Needs, P>
    : TooFew<Services>
  : never;

type MisfitOfMany<
  Services extends readonly unknown[],
  Needs,
  P extends readonly unknown[],
> = Services['length'] extends Partial<P>['length']
  ? MisfitAt<Services, Needs, P>
  : `there is no parameter ${Required<P>['length'] & number}`;

type TooFew<Services> = Services extends readonly unknown[]
  ? `parameter ${Services['length'] & number} has no key`
  : never;

type MisfitAt<Services, Needs, P> = {
  [I in keyof Needs]: Services[I & keyof Services] extends At<P, I>
    ? never
    : Unfit<`${Shown<Needs[I]>} does not fit parameter ${I & string}`, Services[I & keyof Services], At<P, I>>;
}[keyof Needs & number];

/** An entry, or the text of what is wrong with its needs. */
export type CheckedEntry<G, E, Longer> =
  E extends Entry<infer Tag, unknown, infer Needs, infer Takes>
    ? Needs extends NoList<infer Why>
      ? Why
      : [KeyProblems<G, Needs, Tag, Longer>] extends [never]
        ? Delivered<G, Needs> extends Takes
          ? E
          : Misfit<Delivered<G, Needs>, Needs, Takes>
        : KeyProblems<G, Needs, Tag, Longer>
    : 'not an entry of a graph: make it with of, make, value, alias or registered';

/** An alias, or the text of what is wrong with its keys. */
export type CheckedAlias<G, N, Longer> =
  N extends AliasByLifetime<infer Keys>
    ? Unless<N, AliasProblems<G, Keys, Longer>>
    : N extends Alias<infer Other>
      ? Other extends keyof G
        ? N
        : NotRegistered<G, Other>
      : never;

type Unless<N, Problems> = [Problems] extends [never] ? N : Problems;

type AliasProblems<G, Keys, Longer> = {
  [Tag in keyof Keys]: Tag extends keyof Longer
    ? KeyProblem<G, Keys[Tag], Tag, Longer>
    : `${Shown<Tag>} is no lifetime`;
}[keyof Keys];

/** The list that a class has with `static inject`; none is needed without parameters. */
export type OwnList<C> = C extends { readonly inject: infer Needs extends readonly Dependency[] }
  ? number extends Needs['length']
    ? NoList<'add `as const` to its static inject'>
    : Needs
  : C extends new () => unknown
    ? []
    : NoList<'list the keys of its parameters: of(lifetime, Class, [keys])'>;

// Which service does a key of a graph deliver? `G` is the graph: its entries by key.

/** The service of the key: of several registrations, any of theirs. */
export type ServiceOf<G, K> = K extends keyof G ? MadeBy<G, G[K]> : never;

/** The service of the entry `N` of the graph; with `when`, perhaps undefined. */
type MadeBy<G, N> =
  N extends Entry<unknown, infer T, unknown, unknown>
    ? T
    : N extends Alias<infer Other>
      ? ServiceOf<G, Other>
      : N extends readonly Entry<unknown, infer T, unknown, unknown>[]
        ? T
        : N extends Conditional<infer E, unknown>
          ? MadeBy<G, E> | undefined
          : never;

/** The services of a list of keys. */
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

// Is a key available as long as the service that needs it? `Longer` says which lifetimes are as long as which.

/** For each lifetime, an object whose keys are those that are as long or longer: `keyof` a union of them has those that all have. */
export type Outlasting<Tags, Longer = unknown> = Tags extends readonly [infer Tag extends string, ...infer Shorter]
  ? { [K in Tag]: Longer & { [L in Tag]: L } } & Outlasting<Shorter, Longer & { [L in Tag]: L }>
  : unknown;

/** The lifetimes of the key: of several registrations, all of theirs. */
export type LifetimeOf<G, K> = K extends keyof G
  ? G[K] extends Also<Entry<infer More, unknown, unknown, unknown>>
    ? More | OwnLifetime<G, G[K]>
    : OwnLifetime<G, G[K]>
  : never;

/** The lifetimes of the entry `N` of the graph. */
export type OwnLifetime<G, N> =
  N extends Entry<infer Tag, unknown, unknown, unknown>
    ? Tag
    : N extends AliasByLifetime<infer Keys>
      ? keyof Keys
      : N extends Alias<infer Other>
        ? LifetimeOf<G, Other>
        : N extends readonly Entry<infer Tag, unknown, unknown, unknown>[]
          ? Tag
          : N extends Conditional<infer E, unknown>
            ? OwnLifetime<G, E>
            : never;

/** The text for a key that no scope as long as its dependent delivers, for each lifetime of that; otherwise never. */
type Captive<G, K, Tag, Longer> = Tag extends keyof Longer
  ? [LifetimeOf<G, K> & keyof Longer[Tag]] extends [never]
    ? `captive dependency: ${Shown<K>} is ${LifetimeOf<G, K> & string}-scoped, and is disposed before this ${Tag & string} service`
    : never
  : never;
