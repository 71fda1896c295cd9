import type { Container } from './container.js';
import type { Factory } from './contract.js';
import { areTags, checkedTags, checkFunction, type Lineage } from './errors.js';
import { type Injector, MetadataInjector } from './inject.js';
import type { AbstractClass, Class, Dependency, Key, KnownKey, ServiceMap, Settings } from './keys.js';
import { type Binding, bound, Registration, type Tagged } from './registration.js';

const MOST_SHAPES = 1500;
/** The most bindings that may have functions of their own, as V8 has to compile each. */
export const MOST_COPIES = 1000;

export type Resolver = (scope: Container) => unknown;

export const NOTHING: Resolver = () => undefined;
export const giving =
  (value: unknown): Resolver =>
  () =>
    value;

/** Resolves a key that was registered directly: of a shape that scopes share, each scope has its own factory. */
export function givingRegistered(binding: Binding): Resolver {
  const { key, source } = binding;
  const isOfOneScope = source.kind === 'register' && source.factory !== undefined;
  return (scope) => scope.callRegistered(isOfOneScope ? binding : (scope.rare?.registered?.get(key) as Binding));
}

/**
 * Tells if it is a promise, also of another realm or a library. A query builder with a method `then()` is none: to await it would send its
 * statement.
 */
export const isPromise = (object: unknown): object is PromiseLike<unknown> => isThenable(object, true);

export function isThenable(object: unknown, orLess?: true): object is PromiseLike<unknown> {
  try {
    if (typeof (object as PromiseLike<unknown> | null | undefined)?.then !== 'function') return false;
    return !orLess || Object.prototype.toString.call(object) === '[object Promise]';
  } catch {
    return false;
  }
}

/** A binding of a key that applies in a scope, and the shape of the scope that owns its instance. */
export interface Match {
  readonly binding: Binding;
  readonly owner: Shape;
}

export interface Observer {
  /** Returns what is to be called instead. */
  making(make: Resolver, binding: Binding): Resolver;
  refused(scope: Container, key: Key, error: unknown): void;
}

/** The state that all shapes of one application share. */
export class Plans {
  /** Keys that services depend on. Any other key may be registered on a scope without a change of its shape. */
  readonly asked = new Set<Key>();
  /** The number of bindings that have functions of their own. */
  copies = 0;
  /** True if there ever was an override, which wins over nearer registrations. */
  overridden = false;
  observer?: Observer;
  readonly cached = new Map<object, () => void>();
  /** The bindings of classes without a registration: the container makes these from their dependencies. */
  readonly #classes = new WeakMap<AbstractClass, Binding>();
  /** Services that scopes are opened with, each with a number that stands for it in names of shapes. */
  readonly #numbers = new WeakMap<object, number>();
  #lastNumber = 0;

  constructor(readonly injector: Injector) {}

  /** Keeps at most so many shapes for reuse, as tags may be made from data; drops the oldest. */
  cache(shape: object, forget: () => void): void {
    this.cached.set(shape, forget);
    const [oldest] = this.cached;
    if (this.cached.size <= MOST_SHAPES || !oldest) return;
    this.cached.delete(oldest[0]);
    oldest[1]();
  }

  numberOf(services: object): number {
    const number = this.#numbers.get(services) ?? this.#lastNumber++;
    this.#numbers.set(services, number);
    return number;
  }

  bindingOf(target: AbstractClass): Binding {
    let binding = this.#classes.get(target);
    if (!binding) this.#classes.set(target, (binding = Registration.fromClass(target as Class).to(target)));
    return binding;
  }
}

const NO_KEY = Symbol('no key');

/** The first four keys of a shape that turned out to be resolved often: to compare four keys is faster than to look into a map. */
class Often {
  key1: Key = NO_KEY;
  key2: Key = NO_KEY;
  key3: Key = NO_KEY;
  key4: Key = NO_KEY;
  get1 = NOTHING;
  get2 = NOTHING;
  get3 = NOTHING;
  get4 = NOTHING;

  add(key: Key, get: Resolver): void {
    if (this.key1 === NO_KEY) [this.key1, this.get1] = [key, get];
    else if (this.key2 === NO_KEY) [this.key2, this.get2] = [key, get];
    else if (this.key3 === NO_KEY) [this.key3, this.get3] = [key, get];
    else if (this.key4 === NO_KEY) [this.key4, this.get4] = [key, get];
  }
}

// Shared by all shapes in which nothing was resolved yet.
const NONE: ReadonlyMap<Key, Resolver> = new Map<Key, Resolver>();

/** The options of the outermost scope. */
export type ContainerOptions = Pick<ScopeOptions, 'tags'>;

type Services = { readonly [K in KnownKey & string]?: Factory<ServiceMap[K]> } & (Settings extends { strictKeys: true }
  ? unknown
  : Readonly<Record<string, Factory>>);

/** The options of a scope that is opened. */
export interface ScopeOptions {
  /** The purposes of the scope, such as `request`. Predicates of registrations read the tags. */
  readonly tags?: readonly string[];
  /**
   * Factories of services that each such scope has of its own: called with the scope when it is first asked for one, and disposed by other
   * code. Scopes that are opened with the same object share what is compiled for it, so that it costs them nothing.
   */
  readonly services?: Services | undefined;
}

/**
 * The plan that scopes with the same tags and the same parent shape share: tags, bindings, and the compiled resolvers.
 * The bindings of a shape that scopes share never change: adding to such a scope gives it, and the scopes below it, other shapes.
 */
export class Shape implements Tagged {
  readonly bindings = new Map<Key, Binding[]>();
  resolvers = NONE;
  collections = NONE;
  /** The maker of each binding: shared functions, and functions of its own. */
  compiled = new Map<Binding, Resolver | object>();
  copied: Map<Binding, Resolver | object> | undefined = undefined;
  often = new Often();
  /** How often `resolve` was called for keys without functions of their own. */
  calls = 0;
  /** The services that its scopes were opened with. */
  services: ScopeOptions['services'] = undefined;
  #children: Map<string, Shape> | undefined = undefined;
  #latest: Shape | undefined = undefined;
  #variants: Map<Key | Shape, Shape> | undefined = undefined;
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

  /** The shape of a container with no scope around it. */
  static outermost(
    injectorOrOptions: Injector | ContainerOptions | null | undefined,
    second?: ContainerOptions,
  ): Shape {
    const first = injectorOrOptions ?? {};
    const injector = 'dependencies' in first ? first : undefined;
    const { tags = [] } = second ?? (injector ? {} : (first as ContainerOptions));
    return new Shape(undefined, checkedTags(tags), new Plans(injector ?? new MetadataInjector()), true);
  }

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

  keys(): readonly Key[] {
    return [...new Set([...this.upward()].flatMap(({ bindings }) => [...bindings.keys()]))];
  }

  /** Every binding of the key here or above, whether it applies or not; the last one added here comes first. */
  reachable(key: Key): Binding[] {
    return [...this.upward()].flatMap((at) => at.#newestFirst(key));
  }

  #newestFirst(key: Key): Binding[] {
    return this.bindings.get(key)?.toReversed() ?? [];
  }

  /** The bindings of the key that apply here, the winner first: nearest owner, nearest container, last added. */
  matches(key: Key): Match[] {
    const all = this.#search(key);
    const overrides = this.plans.overridden ? all.filter(({ binding }) => binding.override) : [];
    return overrides[0] ? overrides : all;
  }

  /** The match that wins. A class needs no registration. */
  match(key: Key): Match | undefined {
    const [first] = this.plans.overridden ? this.matches(key) : this.#search(key, true);
    if (first || typeof key !== 'function') return first;
    return { binding: this.plans.bindingOf(key), owner: this };
  }

  /** All matches, or the first alone: thousands of nested scopes may have a registration each. */
  #search(key: Key, isOneEnough = false): Match[] {
    const found: Match[] = [];
    // Bindings with a predicate may belong below the scope they were added to, and are found once.
    const seen = new Set<Binding>();
    let conditional: Match[] | undefined;
    for (const at of this.upward()) {
      for (const binding of at.#newestFirst(key))
        if (!seen.has(binding) && (!binding.when || binding.when(at))) found.push({ binding, owner: at });
      if (isOneEnough && found[0]) break;
      conditional ??= at.#conditional(key);
      for (const { binding, owner: added } of conditional)
        if (added !== at && !seen.has(binding) && binding.when?.(at)) {
          seen.add(binding);
          found.push({ binding, owner: at });
        }
      while (conditional[0]?.owner === at) conditional.shift();
      if (isOneEnough && found[0]) break;
    }
    return found;
  }

  /** The bindings with a predicate here and above, the nearest first, each with the shape that it was added to. */
  #conditional(key: Key): Match[] {
    return [...this.upward()].flatMap((owner) =>
      owner.#newestFirst(key).flatMap((binding) => (binding.when ? { binding, owner } : [])),
    );
  }

  /** True if the object was registered here or above as a ready value. */
  hasValue(object: unknown): boolean {
    for (const at of this.upward()) {
      at.values ??= new Set(
        [...at.bindings.values()].flat().flatMap(({ source }) => (source.kind === 'value' ? [source.value] : [])),
      );
      if (at.values.has(object)) return true;
    }
    return false;
  }

  /** True if something may depend on the key here or below, so that registering it changes compiled resolvers. */
  knows(key: Key): boolean {
    if (this.plans.asked.has(key) || this.bindings.has(key)) return true;
    for (let at = this.parent; at; at = at.parent) if (at.bindings.has(key)) return true;
    return false;
  }

  /** The dependencies of the binding, one entry per parameter; there is none for a parameter without a key. */
  dependencies({ source, needs }: Binding): readonly (Dependency | undefined)[] {
    return needs ?? (source.kind === 'class' ? this.plans.injector.dependencies(source.target) : []);
  }

  child(tags: readonly string[], services?: ScopeOptions['services']): Shape {
    // Most scopes of one parent are of one kind.
    const latest = this.#latest;
    if (latest && latest.services === services && areEqual(latest.tags, tags)) return latest;
    const make = () => {
      const shape = new Shape(this, checkedTags(tags), this.plans);
      shape.services = services;
      for (const [key, factory] of Object.entries<Factory>(services ?? {})) {
        checkFunction(factory, 'createScope', 'a function: () => value', key);
        const source = { kind: 'factory', make: factory, isOfScope: true } as const;
        shape.add([{ key, source, singleton: true, externallyOwned: true }]);
      }
      return shape;
    };
    this.#children ??= new Map<string, Shape>();
    const name = nameOf(tags) + (services ? `\0${this.plans.numberOf(services)}` : '');
    const shape = this.#cached(this.#children, name, make);
    // Tags with NUL characters may give two kinds of scopes one name.
    return shape.services === services && areEqual(shape.tags, tags) ? (this.#latest = shape) : make();
  }

  /** Adds bindings to a shape that belongs to one scope. Copies, as one may be added twice. */
  add(bindings: readonly Binding[]): void {
    for (const binding of bindings) {
      const known = this.bindings.get(binding.key);
      if (known) known.push(bound(binding, binding.key));
      else this.bindings.set(binding.key, [bound(binding, binding.key)]);
      if (binding.override) this.plans.overridden = true;
      if (binding.source.kind === 'value') this.values?.add(binding.source.value);
    }
  }

  /** The shape of scopes like these on which the key was registered directly as well; each of them has its own factory. */
  withRegistered(key: Key): Shape {
    this.#variants ??= new Map<Key | Shape, Shape>();
    return this.#cached(this.#variants, key, () => {
      const shape = this.copy(this.parent, false, this.slots);
      shape.add([{ key, source: { kind: 'register' } }]);
      return shape;
    });
  }

  /** The shape that replaces this one when the scope above has another shape. */
  withParent(parent: Shape): Shape {
    if (this.exclusive || parent.exclusive) return this.copy(parent, this.exclusive);
    parent.#variants ??= new Map<Key | Shape, Shape>();
    return parent.#cached(parent.#variants, this, () => this.copy(parent, false, this.slots));
  }

  #cached<K>(among: Map<K, Shape>, name: K, make: () => Shape): Shape {
    const known = among.get(name);
    if (known) return known;
    const shape = make();
    among.set(name, shape);
    this.plans.cache(shape, () => {
      among.delete(name);
      if (this.#latest === shape) this.#latest = undefined;
      shape.#release();
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
    this.#release();
    this.resolvers = this.collections = NONE;
    this.often = new Often();
    this.compiled.clear();
    this.#latest = this.#children = this.#variants = undefined;
    this.calls = 0;
  }

  /** Releases its copied functions, and those of the shapes below that are dropped with it. */
  #release(): void {
    if (this.copied) this.plans.copies -= this.copied.size;
    this.copied = undefined;
    this.plans.cached.delete(this);
    for (const derived of [...(this.#children?.values() ?? []), ...(this.#variants?.values() ?? [])])
      derived.#release();
  }
}

/** A name for a list of tags. Anything else gets an empty name, and `checkedTags` refuses it. */
function nameOf(tags: unknown): string {
  return areTags(tags) ? tags.join('\0') : '';
}

function areEqual(tags: readonly string[], others: readonly string[] | null): boolean {
  if (tags.length !== others?.length) return false;
  for (let i = 0; i < tags.length; i++) if (tags[i] !== others[i]) return false;
  return true;
}

/** Which slot is for the instance of which binding. Slots are given on first use, so that scopes stay small in large graphs. */
class Slots {
  readonly free: number[] = [];

  constructor(
    readonly taken = new Map<Binding, number>(),
    /** The number of slots that are in use. */
    public size = 0,
  ) {}

  of(binding: Binding): number {
    let slot = this.taken.get(binding);
    if (slot === undefined) this.taken.set(binding, (slot = this.free.pop() ?? this.size++));
    return slot;
  }

  copy(): Slots {
    return new Slots(new Map(this.taken), this.size);
  }
}

/** The first slots of a scope are one array. The slots beyond are in pages, which a scope allocates on first use. */
export const NEAR = 32;
const PAGE = 16;

/** Slots of a scope beyond the first. */
export interface Page {
  readonly number: number;
  readonly cells: unknown[];
  readonly next: Page | undefined;
}

// In a slot: the instance is being made; it was made, and is `undefined` (otherwise `undefined` is an empty slot).
export const BUSY = Symbol('busy');
export const UNDEFINED = Symbol('undefined');

export const indexOf = (slot: number): number => (slot < NEAR ? slot : slot % PAGE);

/** The cells of the page of a far slot. */
export function pageOf(scope: Container, slot: number): unknown[] {
  const number = (slot / PAGE) | 0;
  for (let page = scope.rare?.pages; page; page = page.next) if (page.number === number) return page.cells;
  const rare = scope.rareState();
  // oxlint-disable-next-line no-new-array -- room for so many, which no other way of writing it gives
  rare.pages = { number, cells: new Array<unknown>(PAGE), next: rare.pages };
  return rare.pages.cells;
}

/** The content of the slot: an instance, a mark, or undefined where it is empty. */
export const read = (scope: Container, slot: number): unknown =>
  (slot < NEAR ? scope.slots : pageOf(scope, slot))[indexOf(slot)];

export function empty(scope: Container, slot: number): void {
  (slot < NEAR ? scope.slots : pageOf(scope, slot))[indexOf(slot)] = undefined;
}

export function isMade(scope: Container, slot: number): boolean {
  const content = read(scope, slot);
  return content !== undefined && content !== BUSY;
}

/** A key that `resolve` is called for, and the shape of its scope. */
export interface Root {
  readonly key: Key;
  readonly shape: Shape;
}

/** A factory or decorator that is running. */
interface Frame {
  readonly key: Key;
  readonly shape: Shape;
  /** The last call of `resolve` since the frame before. */
  readonly root: Root | undefined;
  readonly before: Frame | undefined;
  readonly depth: number;
}

export interface Progress {
  /** How many calls of `resolve` are making something. */
  resolving: number;
  /** The factories that are running, the latest first. */
  running: Frame | undefined;
  /** The last call of `resolve`. */
  root: Root | undefined;
}

export const progress: Progress = { resolving: 0, running: undefined, root: undefined };

/** The calls of factories and decorators that are running, and of the `resolve` between them, the latest first. */
export function* unfinished(): Generator<Root> {
  for (let frame = progress.running; frame; frame = frame.before) {
    yield frame;
    if (frame.root) yield frame.root;
  }
}

// A factory that runs within itself so many times, also through child scopes, is a circular dependency.
const MOST_ROUNDS = 100;
/** The longest chain of services that are made within one another. */
export const MOST_DEEP = 1000;

/** Calls a factory or decorator, which may call `resolve` itself; throws what `problem` returns where that never ends. */
export const runFrame =
  (shape: Shape, key: Key, get: Resolver, problem: (isCircular: boolean) => Error): Resolver =>
  (scope) => {
    const { running: before, root } = progress;
    const depth = before ? before.depth + 1 : 0;
    if (depth > MOST_ROUNDS) {
      const times = rounds(key);
      if (times > MOST_ROUNDS || depth > MOST_DEEP) throw problem(times > 0);
    }
    progress.running = { key, shape, root, before, depth };
    progress.root = undefined;
    try {
      return get(scope);
    } finally {
      progress.running = before;
      progress.root = root;
    }
  };

function rounds(key: Key): number {
  let count = 0;
  for (let frame = progress.running; frame; frame = frame.before) if (frame.key === key) count++;
  return count;
}
