import { type Binding, Registration } from './registration.js';
import type { AbstractClass, Class, Key } from './keys.js';

import type { Shape } from './shape.js';

/** A binding, and the scope that owns what it makes. */
export interface Place {
  readonly binding: Binding;
  readonly owner: Shape;
}

// A class needs no registration: the container makes it from its dependencies.
const classes = new WeakMap<AbstractClass, Binding>();

/** Every key with a binding here or above. */
export const keysOf = (shape: Shape): readonly Key[] => {
  const keys = new Set<Key>();
  for (const { bindings } of shape.upward()) for (const key of bindings.keys()) keys.add(key);
  return [...keys];
};

/** Every binding of the key here or above, whether it applies or not; the last one added here comes first. */
export const reachable = (shape: Shape, key: Key): Binding[] =>
  [...shape.upward()].flatMap(({ bindings }) => bindings.get(key)?.toReversed() ?? []);

/** Where the bindings of the key belong, as seen from the shape, the winner first: nearest owner, nearest container, last added. */
export function places(shape: Shape, key: Key): Place[] {
  const all = search(shape, key);
  const overrides = shape.plans.overridden ? all.filter(({ binding }) => binding.override) : [];
  return overrides[0] ? overrides : all;
}

/** The place that wins. */
export function place(shape: Shape, key: Key): Place | undefined {
  const [first] = shape.plans.overridden ? places(shape, key) : search(shape, key, true);
  if (first || typeof key !== 'function') return first;
  let binding = classes.get(key);
  if (!binding) classes.set(key, (binding = Registration.fromClass(key as Class).to(key)));
  return { binding, owner: shape };
}

/** All places, or the first alone: thousands of nested scopes may have a registration each. */
function search(shape: Shape, key: Key, isOneEnough = false): Place[] {
  const found: Place[] = [];
  // Those with a predicate may belong below the scope they were added to, and are found once.
  const below = new Set<Binding>();
  let conditional: Place[] | undefined;
  for (let owner: Shape | undefined = shape; owner; owner = owner.parent) {
    const at: Shape = owner;
    for (const binding of at.bindings.get(key)?.toReversed() ?? [])
      if (!below.has(binding) && (!binding.when || binding.when(at))) found.push({ binding, owner: at });
    if (isOneEnough && found[0]) break;
    conditional ??= conditionalAbove(at, key);
    for (const { binding, owner: added } of conditional)
      if (added !== at && !below.has(binding) && binding.when?.(at)) {
        below.add(binding);
        found.push({ binding, owner: at });
      }
    while (conditional[0]?.owner === at) conditional.shift();
    if (isOneEnough && found[0]) break;
  }
  return found;
}

/** The bindings with a predicate here and above, the nearest first. */
const conditionalAbove = (shape: Shape, key: Key): Place[] =>
  [...shape.upward()].flatMap((owner) =>
    (owner.bindings.get(key)?.toReversed() ?? []).flatMap((binding) => (binding.when ? { binding, owner } : [])),
  );

/** Whether the object was registered here or above as a ready value. */
export function isValue(shape: Shape, object: unknown): boolean {
  for (const at of shape.upward()) {
    at.values ??= new Set(
      [...at.bindings.values()].flat().flatMap(({ source }) => (source.kind === 'value' ? [source.value] : [])),
    );
    if (at.values.has(object)) return true;
  }
  return false;
}
