import type { Container } from './container.js';
import { show, showTags } from './errors.js';
import type { Key } from './keys.js';
import type { Binding } from './registration.js';
import type { Place } from './shape.js';

/** What became of one registration of the key. */
export interface Verdict {
  readonly kind: Binding['source']['kind'];
  readonly singleton: boolean;
  /** The tags of the scope that would own the instance and of those above it; undefined where none in reach does. */
  readonly owner: readonly (readonly string[])[] | undefined;
  readonly why: string;
}

/** Why a key resolves to what it does, or to nothing. `String(explanation)` is for people. */
export interface Explanation {
  readonly key: Key;
  readonly winner: Verdict | undefined;
  readonly rejected: readonly Verdict[];
  toString(): string;
}

export function explain({ shape }: Container, key: Key): Explanation {
  const places = shape.places(key);
  const [first] = places;
  const verdicts = shape.reachable(key).map((binding) =>
    verdict(
      binding,
      places.find((place) => place.binding === binding),
      first,
    ),
  );
  const winner = first && verdicts.find((one) => one.why.startsWith('wins'));
  const rejected = verdicts.filter((one) => one !== winner);
  const lines = [winner ?? `  nothing wins`, ...rejected].map((one) => (typeof one === 'string' ? one : line(one)));
  return { key, winner, rejected, toString: () => [`${show(key)} in ${showTags(shape.lineage)}`, ...lines].join('\n') };
}

const line = ({ kind, singleton, owner, why }: Verdict) =>
  `  ${singleton ? 'singleton' : 'transient'} ${kind}${owner ? ` of ${showTags(owner)}` : ''}: ${why}`;

function verdict(
  { source, singleton = false, override }: Binding,
  place: Place | undefined,
  first: Place | undefined,
): Verdict {
  const why = () => {
    if (!place)
      return first?.binding.override
        ? 'rejected: an override wins'
        : 'rejected: its predicate says no to every scope from here up';
    if (place === first) return override ? 'wins: it is an override' : 'wins: nearest owner, last added';
    return place.hops > (first?.hops ?? 0)
      ? 'rejected: a nearer scope has one'
      : 'rejected: one nearer or added later wins';
  };
  return { kind: source.kind, singleton, owner: place?.owner.lineage, why: why() };
}
