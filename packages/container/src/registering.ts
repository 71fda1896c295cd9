import type { Container } from './container.js';
import type { Key } from './keys.js';
import { traced } from './problems.js';
import { type Binding, bound } from './registration.js';
import type { Resolver } from './shape.js';

/*
 * A factory that is registered directly on a scope is kept in the scope. Only where a service depends on its key do shapes name the key, so
 * that scopes which register the same keys share compiled resolvers.
 */

export function add(scope: Container, bindings: readonly Binding[]): void {
  const keys = bindings.map(({ key }) => key);
  if (!scope.shape.exclusive) {
    if (new Set(keys).size === keys.length && bindings.every((binding) => isNewValue(scope, binding))) {
      for (const binding of bindings) scope.addDirectly(binding);
      return;
    }
    takeExclusiveShape(scope);
  }
  changeShape(scope, keys, () => scope.shape.add(bindings));
}

/** A plain value under a new key is like a factory registered directly. */
function isNewValue(scope: Container, { key, source, when, decorators, override }: Binding): boolean {
  return source.kind === 'value' && !when && !decorators && !override && !scope.rare?.registered?.has(key);
}

function takeExclusiveShape(scope: Container): void {
  const direct = scope.rare?.registered ?? new Map<Key, Binding>();
  for (const key of direct.keys()) nameInShapes(scope, key);
  const shape = scope.shape.copy(scope.shape.parent, true);
  // Copies, as one registration may be added to several scopes.
  for (const [key, binding] of direct) shape.bindings.set(key, [bound(binding, key)]);
  scope.takeShape(shape);
}

/** Changes the shape of this scope only; resolvers that may depend on the keys are compiled again. */
export function changeShape(scope: Container, keys: readonly Key[], act: () => void): void {
  for (const key of keys) nameInShapes(scope, key);
  const inner = scope.tree().slice(1);
  const matters = keys.some((key) => scope.shape.knows(key) || inner.some(({ shape }) => shape.bindings.has(key)));
  act();
  if (matters) for (const { shape } of [scope, ...inner]) shape.reset();
}

/** A service depends on the key from now on: the shapes of scopes that have registered it directly must name it. */
export function askFor(scope: Container, key: Key): void {
  const { asked } = scope.shape.plans;
  if (asked.has(key)) return;
  asked.add(key);
  let root = scope;
  while (root.parent) root = root.parent;
  nameInShapes(root, key);
}

/** Lets the shapes of all scopes above and below that have registered the key directly name it. */
function nameInShapes(scope: Container, key: Key): void {
  const has = ({ rare }: Container) => rare?.registered?.has(key) === true;
  let top = scope;
  for (let at = scope.parent; at; at = at.parent) if (has(at)) top = at;
  if (!top.newest && !has(top)) return;
  for (const at of top.tree()) if (has(at) && !at.shape.bindings.has(key)) at.takeShape(at.shape.withRegistered(key));
}

/** Lets the shapes of this scope and those above name all keys that were registered directly. */
export function nameAllInShapes(scope: Container): void {
  for (let at: Container | undefined = scope; at; at = at.parent)
    for (const key of at.rare?.registered?.keys() ?? []) nameInShapes(at, key);
}

/** The resolvers of a key that no shape names: of its factories on the scope and above, the nearest first. */
export function directResolvers(scope: Container, key: Key): Resolver[] {
  const all: Resolver[] = [];
  if (scope.shape.knows(key)) return all;
  for (let at: Container | undefined = scope; at; at = at.parent) {
    const owner = at;
    const binding = at.rare?.registered?.get(key);
    if (binding) all.push(traced(owner.shape, key, () => owner.callRegistered(binding)));
  }
  return all;
}
