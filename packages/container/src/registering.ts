import type { Binding } from './binding.js';
import type { Factory } from './contract.js';
import { noteGiven } from './keeping.js';
import type { Key } from './keys.js';
import { traced } from './problems.js';
import { descendants } from './scope.js';
import type { Resolver, Scope, Shape } from './shape.js';
import { cells, indexOf, rare } from './state.js';

/** Adds registrations to a scope. */
export function add(scope: Scope, bindings: readonly Binding[]): void {
  if (!scope.shape.exclusive) {
    const keys = new Set(bindings.map(({ key }) => key));
    if (keys.size === bindings.length && bindings.every((binding) => isNewValue(scope, binding))) {
      for (const { key, source } of bindings) register(scope, key, giving((source as { value: unknown }).value));
      return;
    }
    takeOwnShape(scope);
  }
  change(
    scope,
    bindings.map(({ key }) => key),
    () => scope.shape.add(bindings),
  );
}

// A plain value under a key that the scope has not got yet is like a factory registered directly, but not replaced by one.
const values = Symbol('value');
const giving = (value: unknown): Factory => Object.assign(() => value, { [values]: true });
const isValue = (factory: unknown): boolean => factory !== undefined && values in (factory as object);

function isNewValue(scope: Scope, { key, source, when, decorators, override }: Binding): boolean {
  if (source.kind !== 'value' || when || decorators || override) return false;
  return !scope.shape.bindings.has(key) && !scope.rare?.direct?.has(key);
}

function takeOwnShape(scope: Scope): void {
  settleAll(scope);
  move(scope, scope.shape.copy(scope.shape.parent, true));
}

/** Removes registrations from a scope with a shape of its own. */
export function remove(scope: Scope, obsolete: readonly Binding[]): void {
  change(
    scope,
    obsolete.map(({ key }) => key),
    () => {
      const { bindings, slots } = scope.shape;
      scope.shape.values = undefined;
      for (const binding of obsolete) {
        const others = bindings.get(binding.key)?.filter((one) => one !== binding) ?? [];
        if (others[0]) bindings.set(binding.key, others);
        else bindings.delete(binding.key);
        if (!binding.when) slots.release(binding, scope);
      }
    },
  );
}

/** Changes the shape of this scope alone; plans that may depend on the keys are worked out again. */
function change(scope: Scope, keys: readonly Key[], act: () => void): void {
  for (const key of keys) settle(scope, key);
  const below = scope.newest ? descendants(scope) : [];
  const matters = keys.some((key) => scope.shape.knows(key) || below.some(({ shape }) => shape.bindings.has(key)));
  act();
  if (matters) for (const { shape } of [scope, ...below]) shape.reset();
}

/** Registers a factory directly on the scope. */
export function register(scope: Scope, key: Key, factory: Factory): void {
  if (!scope.shape.exclusive && isValue(registered(scope, key) ?? scope.rare?.direct?.get(key))) takeOwnShape(scope);
  const { shape } = scope;
  if (registered(scope, key) === undefined || isValue(registered(scope, key))) {
    if (shape.exclusive) change(scope, [key], () => scope.shape.addRegistered(key));
    // Nothing depends on the key, so there is nothing to work out again.
    else if (!isKnown(scope, key)) return void (rare(scope).direct ??= new Map<Key, Factory>()).set(key, factory);
    else move(scope, shape.withRegistered(key));
  }
  store(scope, key, factory);
}

/** Here, above or below. */
function isKnown(scope: Scope, key: Key): boolean {
  if (scope.shape.knows(key)) return true;
  return scope.newest !== undefined && descendants(scope).some(({ shape }) => shape.bindings.has(key));
}

function registered(scope: Scope, key: Key): unknown {
  const slot = scope.shape.slotOfRegistered(key);
  return slot === undefined ? undefined : cells(scope, slot)[indexOf(slot)];
}

function store(scope: Scope, key: Key, factory: Factory): void {
  const slot = scope.shape.slotOfRegistered(key) as number;
  cells(scope, slot)[indexOf(slot)] = factory;
}

/** Some service asks for the key now: scopes that have registered it directly take it into their shapes. */
export function askFor(scope: Scope, key: Key): void {
  const { asked } = scope.shape.plans;
  if (asked.has(key)) return;
  asked.add(key);
  let root = scope;
  while (root.parent) root = root.parent;
  settle(root, key);
}

/** The key becomes known here: scopes above and below that have registered it directly take it into their shapes. */
function settle(scope: Scope, key: Key): void {
  let top = scope;
  for (let at = scope.parent; at; at = at.parent) if (at.rare?.direct?.has(key)) top = at;
  if (!top.newest && !top.rare?.direct) return;
  for (const at of [top, ...descendants(top)]) {
    const factory = at.rare?.direct?.get(key);
    if (!factory) continue;
    at.rare?.direct?.delete(key);
    move(at, at.shape.withRegistered(key));
    store(at, key, factory);
  }
}

/** Takes all that was registered directly on the scope and above into their shapes. */
export function settleAll(scope: Scope): void {
  for (let at: Scope | undefined = scope; at; at = at.parent)
    for (const key of at.rare?.direct?.keys() ?? []) settle(at, key);
}

/** What was registered directly on the scope and above under a key that nothing depends on, the nearest first. */
export function directly(scope: Scope, key: Key): Resolver[] {
  const all: Resolver[] = [];
  if (scope.shape.knows(key)) return all;
  for (let at: Scope | undefined = scope; at; at = at.parent) {
    const owner = at;
    const factory = at.rare?.direct?.get(key);
    if (factory) all.push(traced(owner.shape, key, () => noteGiven(owner, factory(owner))));
  }
  return all;
}

/** Gives the scope another shape, and the scopes below it those that follow from it. */
function move(scope: Scope, shape: Shape): void {
  const moved = new Map([[scope.shape, shape]]);
  scope.shape = shape;
  for (const below of descendants(scope)) {
    let follower = moved.get(below.shape);
    if (!follower) moved.set(below.shape, (follower = below.shape.below((below.parent as Scope).shape)));
    below.shape = follower;
  }
}
