import type { Binding } from './binding.js';
import type { ContainerError } from './errors.js';
import { own, shared, type Templates } from './fast.js';
import type { Key } from './keys.js';
import type { Place } from './places.js';
import type { Search, Step } from './problems.js';
import { NOTHING, type Resolver, type Scope, type Shape } from './shape.js';
import { isMade } from './state.js';

/** What cannot be resolved, and why. */
export class Unavailable {
  constructor(
    readonly problem: ContainerError | undefined,
    readonly causes: readonly Unavailable[] = [],
  ) {}
}

/** One walk over bindings: `resolve` throws the first problem, `verify` collects them all. */
export interface Walk extends Search {
  readonly templates: Templates;
  /** How many bindings were compiled. */
  made: number;
  /** How many are being compiled, each for the one before. */
  deep: number;
  /** What was compiled, by shape. */
  memo(home: Shape, held: boolean): Map<Binding, Resolver | object>;
  report(problem: ContainerError): Unavailable;
  /** Receives each key that a service depends on. */
  ask?(key: Key): void;
  /** Returns an instance that exists already. */
  existing?(home: Shape, binding: Binding): Resolver | undefined;
  /** Lazy dependencies, checked when all else is done. */
  readonly later?: [Place, Step][];
}

/** A walk that compiles into the memo. */
export const compiling = (shape: Shape, more: Partial<Walk>): Walk => ({
  shapes: [shape],
  made: 0,
  deep: 0,
  hinted: 0,
  templates: shared,
  memo: (home) => home.compiled,
  report: (problem) => {
    throw problem;
  },
  ...more,
});

/** Compiles with functions of their own. */
export const copying = (shape: Shape): Walk =>
  compiling(shape, { templates: own, memo: (home) => (home.copied ??= new Map<Binding, Resolver | object>()) });

/** The scope of that shape, this one or one above. */
export function ownerIn(scope: Scope, home: Shape): Scope {
  let owner = scope;
  while (owner.shape !== home && owner.parent) owner = owner.parent;
  return owner;
}

/** Uses the instances that the scope and those above have, whatever has changed since; remembers nothing. */
export function compilingAround(scope: Scope): Walk {
  return compiling(scope.shape, {
    memo: memos(),
    existing(home, binding) {
      const owner = ownerIn(scope, home);
      const slot = home.slots.of(binding);
      return isMade(owner, slot) ? shared.keeping(slot, NOTHING, binding) : undefined;
    },
  });
}

export function memos(): Walk['memo'] {
  const all = [new Map<Shape, Map<Binding, Resolver | object>>(), new Map<Shape, Map<Binding, Resolver | object>>()];
  return (home, held) => {
    const memo = all[Number(held)]?.get(home) ?? new Map<Binding, Resolver | object>();
    all[Number(held)]?.set(home, memo);
    return memo;
  };
}
