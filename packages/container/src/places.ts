import type { Binding } from './binding.js';
import type { AbstractClass, Class, Key } from './keys.js';
import { Registration } from './registration.js';
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
  const added: [Shape, Binding[]][] = [];
  for (let at: Shape | undefined = shape; at; at = at.parent) {
    const bindings = at.bindings.get(key);
    if (bindings) added.push([at, bindings]);
  }
  const found = new Map<Binding, Place>();
  for (let owner: Shape | undefined = shape; owner && added[0]; owner = owner.parent) {
    for (const [at, bindings] of added)
      for (let i = bindings.length - 1; i >= 0; i--) {
        const binding = bindings[i] as Binding;
        if ((binding.when ? binding.when(owner) : at === owner) && !found.has(binding))
          found.set(binding, { binding, owner });
      }
    // A binding never applies above the scope it was added to.
    if (added[0][0] === owner) added.shift();
  }
  const all = [...found.values()];
  const overrides = all.filter(({ binding }) => binding.override);
  return overrides.length > 0 ? overrides : all;
}

/** The place that wins. */
export function place(shape: Shape, key: Key): Place | undefined {
  const first = onlyPlace(shape, key) ?? places(shape, key)[0];
  if (first || typeof key !== 'function') return first;
  let binding = classes.get(key);
  if (!binding) classes.set(key, (binding = Registration.fromClass(key as Class).to(key)));
  return { binding, owner: shape };
}

/** The place of the one binding that most keys have. */
function onlyPlace(shape: Shape, key: Key): Place | undefined {
  let at: Shape | undefined = shape;
  while (at && !at.bindings.has(key)) at = at.parent;
  const bindings = at?.bindings.get(key);
  if (!at || bindings?.length !== 1) return undefined;
  for (let above = at.parent; above; above = above.parent) if (above.bindings.has(key)) return undefined;
  const binding = bindings[0] as Binding;
  if (!binding.when) return { binding, owner: at };
  for (let owner: Shape | undefined = shape; owner; owner = owner === at ? undefined : owner.parent)
    if (binding.when(owner)) return { binding, owner };
  return undefined;
}

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
