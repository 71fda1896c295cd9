import { checkedTags } from './checks.js';
import type { Lineage } from './errors.js';
import type { Resolver } from './fast.js';
import type { Injector } from './inject.js';
import type { AbstractClass, Class, Dependency, Key } from './keys.js';
import { Registration, type Binding, type Tagged } from './registration.js';

/** The shape of scopes that have registered a key by hand, and the slot of what they registered. */
interface Learned {
  readonly key: Key;
  readonly shape: Shape;
  readonly slot: number;
}

/** What a slot is for: the instance of a binding, or the first, second, ... factory that was registered by hand, of whatever key. */
type Origin = Binding | number;

/** A binding, and the scope that owns what it makes. */
export interface Place {
  readonly binding: Binding;
  readonly owner: Shape;
}

// A class needs no binding: it can be made from what it asks for.
const classes = new WeakMap<AbstractClass, Binding>();

/** The entry for the key, made where it is missing. */
function entry<K, V>(
  entries: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => V,
): V {
  let value = entries.get(key);
  if (value === undefined) entries.set(key, (value = make()));
  return value;
}

/** Shapes are cached for reuse, not for keeps: tags made from data must not pile up. */
function recent<K, V>(cache: Map<K, V>, key: K, make: () => V): V {
  if (cache.size > 255) cache.clear();
  return entry(cache, key, make);
}

/**
 * What all scopes opened alike have in common: their tags, the shape above, the bindings added there, and what is worked out from these.
 * A shape in use never changes: adding to such a scope moves it, and the live scopes below it, to new shapes.
 */
export class Shape implements Tagged {
  readonly bindings = new Map<Key, Binding[]>();
  readonly compiled = new Map<Binding, Resolver | object>();
  readonly resolvers = new Map<Key, Resolver>();
  readonly collections = new Map<Key, Resolver>();
  private readonly byTags = new Map<string, Shape>();
  private readonly byLearned = new Map<Key, Learned>();
  private latestLearned: Learned | undefined = undefined;
  private readonly anew = new Map<Key, boolean>();
  private latestTag: string | undefined = undefined;
  private latest: Shape | undefined = undefined;
  private byHand = 0;
  private inUse = false;

  constructor(
    readonly parent: Shape | undefined,
    readonly tags: readonly string[],
    readonly injector: Injector,
    private readonly slots = new Map<Origin, number>(),
  ) {}

  hasTag(tag: string): boolean {
    return this.tags.includes(tag);
  }

  /** This shape and those above, the nearest first. */
  get line(): readonly Shape[] {
    return [this, ...(this.parent?.line ?? [])];
  }

  get lineage(): Lineage {
    return this.line.map(({ tags }) => tags).toReversed();
  }

  isBelow(other: Shape): boolean {
    return this.parent?.line.includes(other) ?? false;
  }

  /** The shape of a child scope with these tags. */
  child(tags: readonly string[]): Shape {
    // Most scopes of one parent are of one kind.
    if (this.latest && tags?.length === 1 && tags[0] === this.latestTag) return this.latest;
    const child = recent(this.byTags, JSON.stringify(tags), () =>
      new Shape(this, checkedTags(tags), this.injector).use(),
    );
    if (tags.length === 1) [this.latestTag, this.latest] = [tags[0], child];
    return child;
  }

  /** The shape with these bindings too: this one as long as nobody uses it, else another. Copies, as one may be added twice. */
  with(bindings: readonly Binding[]): Shape {
    const shape = this.inUse ? this.moved(this.parent) : this;
    for (const binding of bindings) entry(shape.bindings, binding.key, () => []).push({ ...binding });
    return shape;
  }

  /** The shape with a key that is registered by hand on each scope; scopes that learn the same keys share it. */
  learn(key: Key): Learned {
    if (this.latestLearned?.key === key) return this.latestLearned;
    const source = this.bindings.get(key)?.at(-1)?.source;
    if (source?.kind === 'register') return { key, shape: this, slot: this.slotOf(source.at) };
    this.latestLearned = recent(this.byLearned, key, () => {
      // One list of slots for both shapes: scopes go from one to the other with what they have made.
      const shape = this.moved(this.parent, this.slots);
      return shape
        .with([{ key, source: { kind: 'register', at: shape.byHand++ } }])
        .use()
        .learn(key);
    });
    return this.latestLearned;
  }

  /** A copy below another parent, or one that may be added to. Slots stay: live scopes have filled them. */
  moved(parent: Shape | undefined, slots = new Map(this.slots)): Shape {
    const shape = new Shape(parent, this.tags, this.injector, slots);
    for (const [key, same] of this.bindings) shape.bindings.set(key, [...same]);
    shape.byHand = this.byHand;
    return shape;
  }

  /** How many slots have been given. */
  get size(): number {
    return this.slots.size;
  }

  /** From here on this shape and those above stay as they are. */
  use(): this {
    this.inUse = true;
    if (this.parent && !this.parent.inUse) this.parent.use();
    return this;
  }

  /** Where scopes of this shape keep it. Given on first use, so that scopes stay small in large graphs. */
  slotOf(origin: Origin): number {
    return entry(this.slots, origin, () => this.slots.size);
  }

  /** What the binding asks for, one entry per parameter; there is none for a parameter without a key. */
  dependencies({ source, needs }: Binding): readonly (Dependency | undefined)[] {
    return needs ?? (source.kind === 'class' ? this.injector.dependencies(source.target) : []);
  }

  /** Every key with a binding here or above. */
  keys(): readonly Key[] {
    return [...new Set(this.line.flatMap(({ bindings }) => [...bindings.keys()]))];
  }

  /** Every binding of the key added here or above, whether it applies or not, the last added here first. */
  reachable(key: Key): Binding[] {
    return this.line.flatMap(({ bindings }) => bindings.get(key)?.toReversed() ?? []);
  }

  /** Where the bindings of the key belong, as seen from here, the winner first: nearest owner, nearest container, last added. */
  places(key: Key): Place[] {
    const places = new Map<Binding, Place>();
    for (const owner of this.line) {
      const own = owner.bindings.get(key);
      for (const binding of owner.reachable(key))
        if (!places.has(binding) && (binding.when ? binding.when(owner) : own?.includes(binding)))
          places.set(binding, { binding, owner });
    }
    const overrides = [...places.values()].filter(({ binding }) => binding.override);
    return overrides.length > 0 ? overrides : [...places.values()];
  }

  /** Whether each `resolve` of the key makes an instance that nobody keeps. */
  makesAnew(key: Key): boolean {
    const known = this.anew.get(key);
    if (known !== undefined) return known;
    // What goes in a circle makes nothing.
    this.anew.set(key, false);
    const { source, needs, singleton } = this.place(key)?.binding ?? {};
    const makes = source?.kind === 'class' || source?.kind === 'factory';
    const anew = !singleton && (makes || (source?.kind === 'alias' && this.makesAnew(needs?.[0] as Key)));
    this.anew.set(key, anew);
    return anew;
  }

  /** The place that wins. */
  place(key: Key): Place | undefined {
    const [first] = this.places(key);
    if (first || typeof key !== 'function') return first;
    return {
      binding: entry(classes, key, () => Registration.fromClass(key as Class).to(key)),
      owner: this,
    };
  }
}
