import { bound, type Binding, type Tagged } from './binding.js';
import type { IContainer } from './contract.js';
import { areTags, checkedTags, type Lineage } from './errors.js';
import type { Dependency, Key } from './keys.js';
import { Often, type Plans } from './plans.js';
import { Slots, type ScopeState } from './state.js';

/** An open scope, with the internal state of the container. */
export interface Scope extends IContainer, ScopeState {
  shape: Shape;
  readonly parent: Scope | undefined;
  /** The open scopes below are a list: the newest, the one older than it, and so on. */
  newest: Scope | undefined;
  older: Scope | undefined;
  newer: Scope | undefined;
  /** Takes the scope, which is disposed, out of its parent. */
  leave(): void;
}

/** Resolves a service for scopes of the shape it was compiled for. */
export type Resolver = (scope: Scope) => unknown;

// Shared by all shapes in which nothing was resolved yet.
const NONE: ReadonlyMap<Key, Resolver> = new Map<Key, Resolver>();

export const NOTHING: Resolver = () => undefined;
export const giving =
  (value: unknown): Resolver =>
  () =>
    value;

/**
 * What scopes with the same tags and the same parent shape have in common: tags, bindings, and the compiled resolvers.
 * The bindings of a shape that scopes share never change: adding to such a scope gives it, and the scopes below it, other shapes.
 */
export class Shape implements Tagged {
  readonly bindings = new Map<Key, Binding[]>();
  /** What `resolve` and `resolveAll` call. */
  resolvers: ReadonlyMap<Key, Resolver> = NONE;
  collections: ReadonlyMap<Key, Resolver> = NONE;
  /** The maker of each binding: shared functions, and functions of its own. */
  compiled = new Map<Binding, Resolver | object>();
  copied: Map<Binding, Resolver | object> | undefined = undefined;
  often = new Often<Resolver>(NOTHING);
  /** How often `resolve` was called for keys without functions of their own. */
  calls = 0;
  private children: Map<string, Shape> | undefined = undefined;
  private latest: Shape | undefined = undefined;
  private variants: Map<Key | Shape, Shape> | undefined = undefined;
  /** The values among the bindings, computed on demand. */
  values: Set<unknown> | undefined = undefined;

  constructor(
    readonly parent: Shape | undefined,
    readonly tags: readonly string[],
    readonly plans: Plans,
    /** It belongs to one scope, and changes with it. */
    readonly exclusive = false,
    readonly slots = new Slots(),
  ) {}

  hasTag(tag: string): boolean {
    return this.tags.includes(tag);
  }

  get lineage(): Lineage {
    return Array.from(this.upward(), ({ tags }) => tags).toReversed();
  }

  /** This shape and those above, the nearest first. */
  *upward(): Generator<Shape, undefined> {
    yield this;
    for (let at = this.parent; at; at = at.parent) yield at;
  }

  /** How many levels the other is above this one; -1 where it is elsewhere. */
  levelsTo(other: Shape): number {
    return [...this.upward()].indexOf(other);
  }

  isBelow(other: Shape): boolean {
    return this.levelsTo(other) > 0;
  }

  /** The shape of a child scope with these tags. */
  child(tags: readonly string[]): Shape {
    // Most scopes of one parent are of one kind.
    if (this.latest && same(this.latest.tags, tags)) return this.latest;
    const make = () => new Shape(this, checkedTags(tags), this.plans);
    this.children ??= new Map<string, Shape>();
    const shape = this.cached(this.children, nameOf(tags), make);
    // Two lists of tags with NUL characters may have one name.
    return same(shape.tags, tags) ? (this.latest = shape) : make();
  }

  /** Whether something may depend on the key here or below, so that registering it changes compiled resolvers. */
  knows(key: Key): boolean {
    if (this.plans.asked.has(key) || this.bindings.has(key)) return true;
    for (let at = this.parent; at; at = at.parent) if (at.bindings.has(key)) return true;
    return false;
  }

  /** Adds bindings to a shape that belongs to one scope. Copies, as one may be added twice. */
  add(bindings: readonly Binding[]): void {
    for (const binding of bindings) {
      const own = this.bindings.get(binding.key);
      if (own) own.push(bound(binding, binding.key));
      else this.bindings.set(binding.key, [bound(binding, binding.key)]);
      if (binding.override) this.plans.overridden = true;
      if (binding.source.kind === 'value') this.values?.add(binding.source.value);
    }
  }

  /** The shape of scopes like these on which the key was registered directly as well; each of them has its own factory. */
  withRegistered(key: Key): Shape {
    this.variants ??= new Map<Key | Shape, Shape>();
    return this.cached(this.variants, key, () => {
      const shape = this.copy(this.parent, false, this.slots);
      shape.add([{ key, source: { kind: 'register' } }]);
      return shape;
    });
  }

  /** The shape that replaces this one when the scope above has another shape. */
  below(parent: Shape): Shape {
    if (this.exclusive || parent.exclusive) return this.copy(parent, this.exclusive);
    parent.variants ??= new Map<Key | Shape, Shape>();
    return parent.cached(parent.variants, this, () => this.copy(parent, false, this.slots));
  }

  private cached<K>(among: Map<K, Shape>, name: K, make: () => Shape): Shape {
    const known = among.get(name);
    if (known) return known;
    const shape = make();
    among.set(name, shape);
    this.plans.cache(shape, () => {
      among.delete(name);
      if (this.latest === shape) this.latest = undefined;
      shape.release();
    });
    return shape;
  }

  /** A copy below another parent, or one that belongs to one scope. Slots stay: scopes have filled them. */
  copy(parent: Shape | undefined, exclusive: boolean, slots = this.slots.copy()): Shape {
    const shape = new Shape(parent, this.tags, this.plans, exclusive, slots);
    for (const [key, bindings] of this.bindings) shape.bindings.set(key, [...bindings]);
    return shape;
  }

  remember(known: 'resolvers' | 'collections', key: Key, resolver: Resolver): void {
    if (this[known] === NONE) this[known] = new Map<Key, Resolver>();
    (this[known] as Map<Key, Resolver>).set(key, resolver);
  }

  /** Drops everything compiled, because a registration here or above has changed. */
  reset(): void {
    this.release();
    this.resolvers = this.collections = NONE;
    this.often = new Often<Resolver>(NOTHING);
    this.compiled.clear();
    this.latest = this.children = this.variants = undefined;
    this.calls = 0;
  }

  /** Releases its copied functions, and those of the shapes below that are dropped with it. */
  release(): void {
    if (this.copied) this.plans.copies -= this.copied.size;
    this.copied = undefined;
    this.plans.cached.delete(this);
    for (const below of [...(this.children?.values() ?? []), ...(this.variants?.values() ?? [])]) below.release();
  }

  /** What the binding asks for, one entry per parameter; there is none for a parameter without a key. */
  dependencies({ source, needs }: Binding): readonly (Dependency | undefined)[] {
    return needs ?? (source.kind === 'class' ? this.plans.injector.dependencies(source.target) : []);
  }
}

/** A name for a list of tags. Anything else gets an empty name, and `checkedTags` refuses it. */
function nameOf(tags: unknown): string {
  return areTags(tags) ? tags.join('\0') : '';
}

/** Whether the lists are equal. */
function same(one: readonly string[], other: readonly string[] | null): boolean {
  if (one.length !== other?.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}
