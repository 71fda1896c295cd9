import type { Shown } from '../keys.js';
import type { Alias, AliasByLifetime, Also, Conditional, Entry } from './entry.js';

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
export type Captive<G, K, Tag, Longer> = Tag extends keyof Longer
  ? [LifetimeOf<G, K> & keyof Longer[Tag]] extends [never]
    ? `captive dependency: ${Shown<K>} is ${LifetimeOf<G, K> & string}-scoped, and is disposed before this ${Tag & string} service`
    : never
  : never;
