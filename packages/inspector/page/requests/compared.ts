import type { RequestDetails } from '../../src/wire.js';
import { statementGroups } from './statement-groups.js';
import { timeParts } from './time-parts.js';

/** The same measure of two requests; undefined where one of them does not have it. */
export interface Pair {
  readonly name: string;
  readonly one: number | undefined;
  readonly other: number | undefined;
}

interface StatementPair {
  readonly sql: string;
  readonly count: Pair;
  readonly milliseconds: Pair;
}

export interface Compared {
  readonly durations: readonly Pair[];
  readonly statements: readonly StatementPair[];
  /** How often each service was created. */
  readonly services: readonly Pair[];
}

/** Two requests side by side: what differs most comes first. */
export function compareRequests(one: RequestDetails, other: RequestDetails): Compared {
  return {
    durations: durationsOf(one, other),
    statements: statementsOf(one, other),
    services: pairs(servicesOf(one), servicesOf(other)).toSorted(byDifference),
  };
}

/** How much more the other one has. */
export function differenceOf({ one = 0, other = 0 }: Pair): number {
  return other - one;
}

function durationsOf(one: RequestDetails, other: RequestDetails): Pair[] {
  const parts = (request: RequestDetails): Map<string, number> =>
    new Map(timeParts(request).map(({ name, milliseconds }) => [name, milliseconds]));
  return [{ name: 'duration', one: one.milliseconds, other: other.milliseconds }, ...pairs(parts(one), parts(other))];
}

function statementsOf(one: RequestDetails, other: RequestDetails): StatementPair[] {
  const groups = (request: RequestDetails, of: 'count' | 'milliseconds'): Map<string, number> =>
    new Map(statementGroups(request).map(({ sql, steps, totalMs }) => [sql, of === 'count' ? steps.length : totalMs]));
  const milliseconds = new Map(
    pairs(groups(one, 'milliseconds'), groups(other, 'milliseconds')).map((pair) => [pair.name, pair]),
  );
  return pairs(groups(one, 'count'), groups(other, 'count'))
    .map((count) => ({
      sql: count.name,
      count,
      milliseconds: milliseconds.get(count.name) ?? { name: count.name, one: undefined, other: undefined },
    }))
    .toSorted((a, b) => byDifference(a.milliseconds, b.milliseconds));
}

function servicesOf({ steps }: RequestDetails): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { kind, key } of steps)
    if (kind === 'created' && key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

function pairs(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): Pair[] {
  const names = new Set([...one.keys(), ...other.keys()]);
  return Array.from(names, (name) => ({ name, one: one.get(name), other: other.get(name) }));
}

function byDifference(one: Pair, other: Pair): number {
  return Math.abs(differenceOf(other)) - Math.abs(differenceOf(one));
}
