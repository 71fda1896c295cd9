import { bound, type Binding } from './binding.js';
import type { Factory } from './contract.js';
import { giveRegistered } from './keeping.js';
import type { Key } from './keys.js';
import { traced } from './problems.js';
import { descendants } from './scope.js';
import type { Resolver, Scope, Shape } from './shape.js';
import { BUSY, cells, indexOf, rare } from './state.js';

/** Adds registrations to a scope. */
export function add(scope: Scope, bindings: readonly Binding[]): void {
  const keys = bindings.map(({ key }) => key);
  if (!scope.shape.exclusive) {
    if (new Set(keys).size === keys.length && bindings.every((binding) => isNewValue(scope, binding))) {
      for (const binding of bindings) addDirectly(scope, binding);
      return;
    }
    takeOwnShape(scope);
  }
  change(scope, keys, () => scope.shape.add(bindings));
}

/** A plain value under a key of its own is like a factory registered directly. */
function isNewValue(scope: Scope, { key, source, when, decorators, override }: Binding): boolean {
  return source.kind === 'value' && !when && !decorators && !override && !scope.rare?.registered?.has(key);
}

/** Registers a factory directly on the scope. */
export function register(scope: Scope, key: Key, factory: Factory): void {
  const { shape } = scope;
  const last = shape.exclusive ? shape.bindings.get(key)?.at(-1) : scope.rare?.registered?.get(key);
  const binding: Binding = { key, source: { kind: 'register', factory } };
  if (last?.source.kind === 'register') last.source.factory = factory;
  else if (shape.exclusive || last) add(scope, [binding]);
  else addDirectly(scope, binding);
}

/** Adds to this scope alone; the shape, which it shares with others, changes only where something may depend on the key. */
function addDirectly(scope: Scope, binding: Binding): void {
  const { key } = binding;
  (rare(scope).registered ??= new Map<Key, Binding>()).set(key, binding);
  if (scope.shape.knows(key) || (scope.newest && descendants(scope).some(({ shape }) => shape.bindings.has(key))))
    move(scope, scope.shape.withRegistered(key));
}

function takeOwnShape(scope: Scope): void {
  const registered = scope.rare?.registered ?? new Map<Key, Binding>();
  for (const key of registered.keys()) settle(scope, key);
  const own = scope.shape.copy(scope.shape.parent, true);
  // Copies, as one registration may be added to several scopes.
  for (const [key, binding] of registered) own.bindings.set(key, [bound(binding, key)]);
  move(scope, own);
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
        const slot = slots.taken.get(binding);
        // No other scope uses the slot. Its instance may be in the making.
        if (binding.when || slot === undefined || cells(scope, slot)[indexOf(slot)] === BUSY) continue;
        cells(scope, slot)[indexOf(slot)] = undefined;
        slots.taken.delete(binding);
        slots.free.push(slot);
      }
    },
  );
}

/** Changes the shape of this scope only; resolvers that may depend on the keys are compiled again. */
function change(scope: Scope, keys: readonly Key[], act: () => void): void {
  for (const key of keys) settle(scope, key);
  const below = scope.newest ? descendants(scope) : [];
  const matters = keys.some((key) => scope.shape.knows(key) || below.some(({ shape }) => shape.bindings.has(key)));
  act();
  if (matters) for (const { shape } of [scope, ...below]) shape.reset();
}

/** A service depends on the key from now on: the shapes of scopes that have registered it directly must name it. */
export function askFor(scope: Scope, key: Key): void {
  const { asked } = scope.shape.plans;
  if (asked.has(key)) return;
  asked.add(key);
  let root = scope;
  while (root.parent) root = root.parent;
  settle(root, key);
}

/** Lets the shapes of all scopes above and below that have registered the key directly name it. */
function settle(scope: Scope, key: Key): void {
  const has = ({ rare: own }: Scope) => own?.registered?.has(key) === true;
  let top = scope;
  for (let at = scope.parent; at; at = at.parent) if (has(at)) top = at;
  if (!top.newest && !has(top)) return;
  for (const at of [top, ...descendants(top)])
    if (has(at) && !at.shape.bindings.has(key)) move(at, at.shape.withRegistered(key));
}

/** Lets the shapes of this scope and those above name all keys that were registered directly. */
export function settleAll(scope: Scope): void {
  for (let at: Scope | undefined = scope; at; at = at.parent)
    for (const key of at.rare?.registered?.keys() ?? []) settle(at, key);
}

/** How to resolve a key that no shape names: what was registered directly on the scope and above, the nearest first. */
export function directly(scope: Scope, key: Key): Resolver[] {
  const all: Resolver[] = [];
  if (scope.shape.knows(key)) return all;
  for (let at: Scope | undefined = scope; at; at = at.parent) {
    const owner = at;
    const binding = at.rare?.registered?.get(key);
    if (binding) all.push(traced(owner.shape, key, () => giveRegistered(owner, binding)));
  }
  return all;
}

/** Gives the scope another shape, and the scopes below it the shapes that follow from that. */
function move(scope: Scope, shape: Shape): void {
  const moved = new Map([[scope.shape, shape]]);
  scope.shape = shape;
  if (!scope.newest) return;
  for (const below of descendants(scope)) {
    let follower = moved.get(below.shape);
    if (!follower) moved.set(below.shape, (follower = below.shape.below((below.parent as Scope).shape)));
    below.shape = follower;
  }
}
