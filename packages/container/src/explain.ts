import type { Binding } from './registration.js';
import type { Container } from './container.js';
import { show, showTags } from './errors.js';
import type { Key } from './keys.js';
import { nameAllInShapes } from './registering.js';
import type { Match } from './shape.js';
import { sayOf, splitsOf } from './verify.js';

/** One registration of the key, and why it wins or not. */
export interface Verdict {
  /** The way in which the registration makes the service. */
  readonly kind: Binding['source']['kind'];
  /** True if the owner keeps the instance. */
  readonly singleton: boolean;
  /** The tags of the scope that would own the instance and of those above it; undefined where none does, or an override wins. */
  readonly owner: readonly (readonly string[])[] | undefined;
  /** The feature that registers it, where it has one. */
  readonly feature: string | undefined;
  /** Why it wins or was rejected, in words. */
  readonly why: string;
}

/** Why a key resolves to what it does, or to nothing. `String(explanation)` is a text. */
export interface Explanation {
  /** The key that was asked about. */
  readonly key: Key;
  /** The registration that `resolve` uses; undefined where none applies. */
  readonly winner: Verdict | undefined;
  /** The other registrations of the key, here and above. */
  readonly rejected: readonly Verdict[];
  /**
   * Writes the explanation for people.
   *
   * @returns one line for the key and its scope, and one for each registration
   */
  toString(): string;
}

/**
 * Says which registration of the key wins in this scope and why, who owns the instance, and which others were rejected.
 *
 * @param scope - the scope that would resolve the key
 * @param key - the key to explain
 * @returns the verdicts; as a string, a text
 * @throws `ContainerError` `AMBIT_DISPOSED`: the scope is disposed
 *
 * @example
 * ```ts
 * import { explain } from '@ambit/container/tools';
 * String(explain(new Container(), 'ILogger')); // 'ILogger' in [no tags]: nothing wins
 * ```
 */
export function explain(scope: Container, key: Key): Explanation {
  scope.refuseDisposed('explain', key);
  nameAllInShapes(scope);
  const { shape } = scope;
  const matches = shape.matches(key);
  const first = shape.match(key);
  const others = shape.reachable(key);
  // A registration that was added twice is rejected once.
  if (first && others.includes(first.binding)) others.splice(others.indexOf(first.binding), 1);
  const splits = first ? splitsOf(first.binding, first.owner, shape).map((split) => sayOf(split, shape)) : [];
  const winner = first && verdict(first.binding, first, [whyItWins(first.binding, matches), ...splits].join('; '));
  const rejected = others.map((binding) => {
    const found = matches.find((one) => one.binding === binding);
    return verdict(binding, found, whyRejected(found, first));
  });
  const lines = [winner ? line(winner) : '  nothing wins', ...rejected.map(line)];
  return { key, winner, rejected, toString: () => [`${show(key)} in ${showTags(shape.lineage)}`, ...lines].join('\n') };
}

const verdict = ({ source, singleton = false, declared }: Binding, match: Match | undefined, why: string): Verdict => ({
  kind: source.kind,
  singleton,
  owner: match?.owner.lineage,
  feature: declared?.feature,
  why,
});

const line = ({ kind, singleton, owner, feature, why }: Verdict) =>
  `  ${singleton ? 'singleton' : 'transient'} ${kind}${owner ? ` of ${showTags(owner)}` : ''}${feature === undefined ? '' : ` by feature ${show(feature)}`}: ${why}`;

function whyItWins({ override }: Binding, matches: readonly Match[]): string {
  if (matches.length === 0) return 'wins: a class can be made without a registration';
  return override ? 'wins: it is an override' : 'wins: nearest owner, last added';
}

function whyRejected(match: Match | undefined, first: Match | undefined): string {
  if (match && first?.owner.isBelow(match.owner)) return 'rejected: a nearer scope has one';
  if (match) return 'rejected: one nearer or added later wins';
  return first?.binding.override
    ? 'rejected: an override wins'
    : 'rejected: its predicate says no to every scope from here up';
}
