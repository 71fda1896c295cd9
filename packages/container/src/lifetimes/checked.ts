import type { Shown } from '../keys.js';
import type { Alias, Also, Conditional, Entry, Override, Unfit } from './entry.js';
import type { CheckedAlias, CheckedEntry, Requiring, ServiceOf, LifetimeOf, OwnLifetime } from './needs.js';

// Does each entry of a feature fit the graph? `Earlier` are the keys of the features before it.

/** An entry that joins those of an earlier feature, if its service fits the key. */
type Joined<G, K, E, Longer, Earlier, Good> = K extends Earlier
  ? CheckedEntry<G, E, Longer> extends E
    ? FittingKey<G, K, E, Good>
    : CheckedEntry<G, E, Longer>
  : `${Shown<K>} is not registered by an earlier feature`;

type FittingKey<G, K, E, Good> =
  E extends Entry<unknown, infer T, unknown, unknown>
    ? [T] extends [ServiceOf<G, K>]
      ? Good
      : Unfit<`it does not fit ${Shown<K>}`, T, ServiceOf<G, K>>
    : never;

/** One of the entries `Group` that replace others, if they have all lifetimes of those: services that hold one count on that. */
type Replacing<G, K, E, Group, Longer, Earlier, Good> = [LifetimeOf<G, K>] extends [OwnLifetime<G, Group>]
  ? Joined<G, K, E, Longer, Earlier, Good>
  : `${Shown<K>} is ${LifetimeOf<G, K> & string}-scoped: what replaces it must be so, too`;

type ReplacingAll<G, K, N, Group, Longer, Earlier> = {
  readonly [I in keyof N]: N[I] extends Override<infer E> ? Replacing<G, K, E, Group, Longer, Earlier, N[I]> : never;
};

type New<G, N, Longer> =
  N extends Alias<unknown>
    ? CheckedAlias<G, N, Longer>
    : N extends readonly unknown[]
      ? { readonly [I in keyof N]: CheckedEntry<G, N[I], Longer> }
      : CheckedEntry<G, N, Longer>;

/** One value of a feature object: itself, or the text of what is wrong with it. */
type CheckedAt<G, K, N, Longer, Earlier> =
  N extends Conditional<infer E, infer Own>
    ? IfGood<CheckedAt<Within<G, Own>, K, E, Longer, Earlier>, E, N>
    : N extends Override<infer E>
      ? Replacing<G, K, E, E, Longer, Earlier, N>
      : N extends Also<infer E>
        ? Joined<G, K, E, Longer, Earlier, N>
        : N extends readonly Override<infer Group>[]
          ? ReplacingAll<G, K, N, Group, Longer, Earlier>
          : NewUnlessEarlier<G, K, N, Longer, Earlier>;

type IfGood<Verdict, E, N> = [Verdict] extends [E] ? N : Verdict;

type NewUnlessEarlier<G, K, N, Longer, Earlier> = K extends Earlier
  ? `an earlier feature registers ${Shown<K>}: say .override() to replace it, or .also() to add to it`
  : New<G, N, Longer>;

/** The graph as the entries of an optional feature see it: where one of them is there, all are. */
type Within<G, Own> = {
  readonly [K in keyof G]: K extends keyof Own
    ? Own[K] extends Override<unknown> | Also<unknown> | readonly Override<unknown>[]
      ? G[K]
      : Own[K]
    : G[K];
};

/** The entries of a list of plain keys; undefined fits none. */
type Given<G, Needs> = { -readonly [I in keyof Needs]: Needs[I] extends keyof G ? G[Needs[I]] : undefined };

/** The entries that fit the parameters, with a lifetime that each lifetime of their dependent allows. */
type Wanted<Takes, Longer> = { [I in keyof Takes]: Entry<Longer, Takes[I], unknown, unknown> };

/** True if one comparison passes the entry, which it does for most; the others are looked at key by key. */
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

/** The entries of the features that another one requires: of features, and of functions that make them. */
type EntriesOf<Features> = Features extends readonly [infer First, ...infer Rest]
  ? (First extends (...needs: never[]) => infer F ? F : First) & EntriesOf<Rest>
  : unknown;

/** A feature, checked against the features that it requires. */
export type CheckedFeature<F, Features, Longer> = Checked<
  F,
  F & EntriesOf<Features> & Requiring,
  Longer,
  keyof EntriesOf<Features>
>;

/** Replacements of services of the graph, each checked like the rest of it. */
export type CheckedReplacements<R, G, Longer> = {
  readonly [K in keyof R]: Replacing<G, K, R[K], R[K], Longer, keyof G, R[K]>;
};
