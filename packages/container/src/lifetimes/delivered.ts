import type { All, Lazy, Optional } from '../keys.js';
import type { Alias, Conditional, Entry } from './entry.js';

// What does a key of a graph deliver? `G` is the graph: its entries by key.

/** What the key delivers: of several registrations, any of theirs. */
export type ServiceOf<G, K> = K extends keyof G ? MadeBy<G, G[K]> : never;

/** What the entry `N` of the graph makes; with `when`, perhaps undefined. */
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

/** What a list of keys delivers. */
export type Delivered<G, Needs> = { -readonly [I in keyof Needs]: DeliveredAt<G, Needs[I]> };

type DeliveredAt<G, D> = D extends keyof G
  ? ServiceOf<G, D>
  : D extends Lazy<infer K>
    ? () => ServiceOf<G, K>
    : D extends All<infer K>
      ? ServiceOf<G, K>[]
      : D extends Optional<infer K>
        ? ServiceOf<G, K> | undefined
        : never;
