import { bound, type Binding, Registration } from '../registration.js';
import { refuse, show } from '../errors.js';
import type { Key } from '../keys.js';
import type { ScopeDeclaration } from '../verify.js';

import type { CheckedReplacements } from './checked.js';
import type { ServiceOf, Outlasting } from './needs.js';
import { Entry } from './entry.js';

/** A graph that the compiler has checked, ready for a container. */
export interface Composition<G, Tags> {
  /** Only in types. */
  readonly is?: readonly [G, Tags];
  /** For `container.addRegistration(...)`, in the order of the features. */
  readonly registrations: readonly Binding[];
  /** The scopes that the application opens, for `verify(container, ...scopes)` and `graph(container, ...scopes)`. */
  readonly scopes: readonly ScopeDeclaration[];
  /**
   * Services in place of those of the graph, checked like the graph itself, for tests: `override(container, ...app.replacing({ ... }))`.
   * @param entries - the replacements by key
   * @returns their registrations
   */
  replacing<const R extends object>(entries: CheckedReplacements<R, G, Outlasting<Tags>>): Binding[];
}

/**
 * The services of a graph by key, for `ServiceMap`.
 *
 * @example
 * ```ts
 * import { lifetimes, type Services } from '@ambit/container';
 * const { value, build } = lifetimes('application');
 * const app = build({ url: value('postgres://localhost') });
 * const services: Services<typeof app> = { url: 'postgres://127.0.0.1' };
 * ```
 */
export type Services<C> = C extends Composition<infer G, infer _Tags> ? { [K in keyof G]: ServiceOf<G, K> } : never;

type Keyed = readonly [Key, Entry<unknown, unknown, unknown, unknown>];

export function composed(tags: readonly string[], features: readonly object[]): Composition<unknown, unknown> {
  let all: Keyed[] = [];
  features.forEach((feature, i) => {
    const own = keyed(feature);
    const replaced = new Set(own.flatMap(([key, { declared }]) => (declared.joining === 'override' ? key : [])));
    all = all.filter(([key]) => !replaced.has(key));
    for (const [key, entry] of own) all.push([key, features[1] ? entry.within(`feature ${i + 1}`) : entry]);
  });
  return {
    registrations: bindings(all),
    scopes: nested(tags.slice(1), all),
    replacing: (entries: object) => bindings(keyed(entries)),
  };
}

function keyed(feature: object): Keyed[] {
  return Reflect.ownKeys(feature).flatMap((key) =>
    [(feature as Record<Key & string, unknown>)[key as string]].flat().map((entry): Keyed => {
      if (entry instanceof Entry) return [key, entry];
      return refuse(`${show(key)} is ${show(entry)}`, 'make it with of, make, value, alias or registered', key);
    }),
  );
}

const bindings = (all: readonly Keyed[]): Binding[] =>
  all.flatMap(([key, { registration, declared }]) =>
    registration ? bound({ ...registration.to(key), declared }, key) : [],
  );

/** One scope within the other, with the keys that are registered on each. */
function nested([tag, ...inner]: readonly string[], all: readonly Keyed[]): ScopeDeclaration[] {
  if (tag === undefined) return [];
  const registers = all.flatMap(([key, { registration, declared }]) =>
    !registration && declared.lifetimes?.includes(tag) ? key : [],
  );
  return [{ tags: [tag], registers, scopes: nested(inner, all) }];
}

export function named<F extends object>(name: string, feature: F): F {
  const entries = keyed(feature).map(([key, entry]) => [key, entry.within(name)] as const);
  return Object.fromEntries(
    Reflect.ownKeys(feature).map((key) => [key, entries.flatMap(([k, e]) => (k === key ? e : []))]),
  ) as F;
}

/** Has each key deliver undefined. Entries that would join those of earlier features are left out. */
export const absent = (feature: object): object =>
  Object.fromEntries(
    keyed(feature).flatMap(([key, { declared }]) => {
      const nothing = new Entry({ feature: declared.feature }, Registration.fromValue(undefined));
      return declared.joining ? [] : [[key, nothing]];
    }),
  );
