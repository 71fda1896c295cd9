import { ContainerError, show } from './errors.js';
import type { Injector } from './inject.js';
import type { AbstractClass, Class, Key } from './keys.js';
import { Registration, type Binding, type Tagged } from './registration.js';
import type { Inspection, Plan } from './plan.js';
import type { Resolver } from './resolver.js';

/** A binding and the scope that owns what it makes, so many parents up. */
export interface Place {
  readonly binding: Binding;
  readonly owner: Shape;
  readonly hops: number;
}

// Shapes are cached for reuse, not for keeps: tags made from data must not pile up.
const MOST_CACHED = 256;

const cached = <K>(cache: Map<K, Shape>, key: K, make: () => Shape): Shape => {
  let shape = cache.get(key);
  if (!shape) {
    if (cache.size === MOST_CACHED) cache.clear();
    cache.set(key, (shape = make()));
  }
  return shape;
};

const classes = new WeakMap<AbstractClass, Binding>();

function asItself(target: AbstractClass): Binding {
  let binding = classes.get(target);
  if (!binding) classes.set(target, (binding = Registration.fromClass(target as Class).to(target)));
  return binding;
}

/**
 * What all scopes opened alike have in common: their tags, the shape above, the bindings added there, and all that is worked out from these.
 * A shape in use never changes: adding to such a scope moves it, and its live children, to a new shape.
 */
export class Shape implements Tagged {
  readonly bindings = new Map<Key, Binding[]>();
  readonly slots = new Map<Binding, number>();
  readonly plans = new Map<Binding, Plan | Inspection>();
  readonly instances = new Map<Binding, Resolver>();
  readonly resolvers = new Map<Key, Resolver>();
  readonly collections = new Map<Key, Resolver>();
  private readonly byTag = new Map<string, Shape>();
  private readonly byTags = new Map<string, Shape>();
  private readonly byLearned = new Map<Key, Shape>();
  private latestTag: string | undefined = undefined;
  private latest: Shape | undefined = undefined;
  private inUse = false;

  constructor(
    readonly parent: Shape | undefined,
    readonly tags: readonly string[],
    readonly injector: Injector,
  ) {}

  hasTag(tag: string): boolean {
    return this.tags.includes(tag);
  }

  /** The tags of this shape and of those above it, the outermost first. */
  get lineage(): readonly (readonly string[])[] {
    return [...(this.parent?.lineage ?? []), this.tags];
  }

  /** The shape of a child scope with these tags. */
  child(tags: readonly string[]): Shape {
    // Most scopes of one parent are of one kind.
    if (tags.length === 1 && tags[0] === this.latestTag) return this.latest as Shape;
    const make = () => new Shape(this, checkedTags(tags), this.injector).use();
    if (tags.length !== 1) return cached(this.byTags, JSON.stringify(tags), make);
    this.latest = cached(this.byTag, tags[0] as string, make);
    this.latestTag = tags[0];
    return this.latest;
  }

  /** The shape with these bindings too: this one while nobody uses it, else another. */
  with(bindings: readonly Binding[]): Shape {
    const shape = this.inUse ? this.moved(this.parent) : this;
    for (const binding of bindings) {
      const same = shape.bindings.get(binding.key);
      if (same) same.push(binding);
      else shape.bindings.set(binding.key, [binding]);
    }
    return shape;
  }

  /** The shape with a key that is registered by hand on each scope; scopes that learn the same keys share it. */
  learn(key: Key): Shape {
    if (this.learned(key)) return this;
    return cached(this.byLearned, key, () => this.with([{ key, source: { kind: 'register' } }]).use());
  }

  /** The binding of a key that is registered by hand, if that is what wins here. */
  learned(key: Key): Binding | undefined {
    const last = this.bindings.get(key)?.at(-1);
    return last?.source.kind === 'register' ? last : undefined;
  }

  /** The same shape without these bindings. */
  without(bindings: readonly Binding[]): Shape {
    const shape = this.moved(this.parent);
    for (const [key, same] of shape.bindings)
      shape.bindings.set(
        key,
        same.filter((binding) => !bindings.includes(binding)),
      );
    return shape;
  }

  /** A copy under another parent, or one that may be added to. Slots stay, since live scopes fill them. */
  moved(parent: Shape | undefined): Shape {
    const shape = new Shape(parent, this.tags, this.injector);
    for (const [key, same] of this.bindings) shape.bindings.set(key, [...same]);
    for (const [binding, slot] of this.slots) shape.slots.set(binding, slot);
    return shape;
  }

  /** From here on this shape and those above stay as they are. */
  use(): this {
    for (let shape: Shape | undefined = this; shape && !shape.inUse; shape = shape.parent) shape.inUse = true;
    return this;
  }

  /** Where a scope of this shape keeps the binding's instance. Given on first use, so that scopes stay small in large graphs. */
  slotOf(binding: Binding): number {
    let slot = this.slots.get(binding);
    if (slot === undefined) this.slots.set(binding, (slot = this.slots.size));
    return slot;
  }

  /** Every binding of the key in reach, the winner first: nearest owner, nearest container, last added. */
  places(key: Key): Place[] {
    const places = new Map<Binding, Place>();
    for (let owner: Shape | undefined = this, hops = 0; owner; owner = owner.parent, hops++)
      for (const binding of owner.accepted(key))
        if (!places.has(binding)) places.set(binding, { binding, owner, hops });
    const all = [...places.values()];
    const overrides = all.filter(({ binding }) => binding.override);
    return overrides.length > 0 ? overrides : all;
  }

  /** The binding that wins, and its owner. A class needs no binding: it is made from what it asks for. */
  place(key: Key): Place | undefined {
    const [first] = this.places(key);
    if (first || typeof key !== 'function') return first;
    return { binding: asItself(key), owner: this, hops: 0 };
  }

  isBelow(other: Shape): boolean {
    return this.parent !== undefined && (this.parent === other || this.parent.isBelow(other));
  }

  /** Every key with a binding here or above. */
  keys(): Key[] {
    return [...new Set([...this.bindings.keys(), ...(this.parent?.keys() ?? [])])];
  }

  /** The tags that predicates of the key asked for in vain; undefined where it has no binding in reach at all. */
  refused(key: Key): string[] | undefined {
    const bindings = this.reachable(key);
    const asked = new Set<string>();
    for (const { when } of bindings) when?.({ hasTag: (tag) => this.hasTag(tag) || !asked.add(tag) });
    return bindings.length > 0 ? [...asked] : undefined;
  }

  /** Every binding of the key added here or above, whether or not it applies; the last added here comes first. */
  reachable(key: Key): Binding[] {
    return [...[...(this.bindings.get(key) ?? [])].reverse(), ...(this.parent?.reachable(key) ?? [])];
  }

  /** The bindings of the key that this shape owns. */
  private *accepted(key: Key): Iterable<Binding> {
    for (let at: Shape | undefined = this; at; at = at.parent)
      for (const binding of [...(at.bindings.get(key) ?? [])].reverse())
        if (binding.when ? binding.when(this) : at === this) yield binding;
  }
}

export function checkedTags(tags: readonly string[]): readonly string[] {
  if (Array.isArray(tags) && tags.every((tag) => typeof tag === 'string')) return Object.freeze([...tags]);
  throw new ContainerError('AMBIT_BAD_TAGS', {
    about: `tags are a list of strings, not ${show(tags)}`,
    hint: "write createScope({ tags: ['request'] })",
  });
}
