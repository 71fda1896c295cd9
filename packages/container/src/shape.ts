import { type Injector, MetadataInjector } from './inject.js';
import { type Binding, bound, type Tagged } from './registration.js';
import type { Key, Dependency } from './keys.js';
import type { IContainer } from './contract.js';
import { areTags, checkedTags, type Lineage, type Failure, ContainerError, hintOf, show } from './errors.js';
import { hasClock, setTimeout } from '#platform';

const MOST_SHAPES = 1500;
/** The most bindings that may have functions of their own, as V8 has to compile each. */
export const MOST_COPIES = 1000;

/** Makes an instance in a scope; what a scope is, only a shape knows. */
type Make = (scope: never) => unknown;

/** Follows what is made, for `observeCreations()`. */
export interface Observer {
  /** Returns what is to be called instead. */
  making(make: Make, binding: Binding): Make;
  /** The key could not be resolved. */
  refused(scope: object, key: Key, error: unknown): void;
}

/** What all shapes of one application share. */
export class Plans {
  /** Keys that services depend on. Any other key may be registered on a scope without a change of its shape. */
  readonly asked = new Set<Key>();
  /** How many bindings have functions of their own. */
  copies = 0;
  /** Whether there ever was an override, which wins over nearer registrations. */
  overridden = false;
  observer?: Observer;
  readonly cached = new Map<object, () => void>();

  constructor(readonly injector: Injector) {}

  /** Keeps at most so many shapes for reuse, as tags may be made from data; drops the oldest. */
  cache(shape: object, forget: () => void): void {
    this.cached.set(shape, forget);
    const [oldest] = this.cached;
    if (this.cached.size <= MOST_SHAPES || !oldest) return;
    this.cached.delete(oldest[0]);
    oldest[1]();
  }
}

const NO_KEY = Symbol('no key');

/** The first four keys of a shape that turned out to be resolved often: to compare four keys is faster than to look into a map. */
class Often<Get> {
  key1: Key = NO_KEY;
  key2: Key = NO_KEY;
  key3: Key = NO_KEY;
  key4: Key = NO_KEY;
  get1: Get;
  get2: Get;
  get3: Get;
  get4: Get;

  constructor(nothing: Get) {
    this.get1 = this.get2 = this.get3 = this.get4 = nothing;
  }

  add(key: Key, get: Get): void {
    if (this.key1 === NO_KEY) [this.key1, this.get1] = [key, get];
    else if (this.key2 === NO_KEY) [this.key2, this.get2] = [key, get];
    else if (this.key3 === NO_KEY) [this.key3, this.get3] = [key, get];
    else if (this.key4 === NO_KEY) [this.key4, this.get4] = [key, get];
  }
}

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

/** Something to dispose or to start; a list of these goes from the newest to the oldest. */
export interface Kept {
  readonly binding: Binding;
  /** What is disposed: the instance, what a decorator made of it, or what a promise has given. */
  instance: unknown;
  /** The instance, and what each decorator made of it; undefined where that is `instance` alone. */
  readonly layers: readonly unknown[] | undefined;
  before: Kept | undefined;
  /** Whether this scope disposes it: nobody else does. */
  owned: boolean;
  /** How many `onStart` callbacks have completed. */
  started: number;
}

/** A start in progress, and the key of what is being started. */
export interface Starting {
  promise: Promise<void>;
  key: Key;
}

/** The disposal of a scope that waits for others, or that others wait for. */
export interface Disposal {
  promise: Promise<void> | undefined;
  /** Settles a promise that was returned before the disposal had one. */
  settle: ((failures: readonly Failure[]) => void) | undefined;
  done: boolean;
  /** How many scopes below are not done. */
  pending: number;
  /** What failed here; what failed below is in `below`. */
  failures: readonly Failure[];
  below: Disposal[];
  /** Why the scope is disposed, where its work failed. */
  reason: unknown;
}

/** The first slots of a scope are one array. The slots beyond are in pages, which a scope allocates on first use. */
export const NEAR = 32;
const PAGE = 16;

interface Page {
  readonly number: number;
  readonly cells: unknown[];
  readonly next: Page | undefined;
}

/** State that few scopes have, so that the others stay small. */
export interface Rare {
  pages: Page | undefined;
  /** What was registered on this scope directly. Its shape names only the keys that something may depend on. */
  registered: Map<Key, Binding> | undefined;
  starting: Starting | undefined;
  /** An index of the older part of `kept`. */
  owned: { readonly objects: Set<unknown>; to: Kept | undefined } | undefined;
  /** The last async factory that failed and has not succeeded since; `start()` reports it. */
  rejected: { readonly key: Key; readonly cause: unknown } | undefined;
  /** Objects that factories received from outside of the container. */
  given: WeakSet<object> | undefined;
}

/** What an open scope holds. */
export interface ScopeState {
  /** What was made, by slot. */
  slots: unknown[];
  rare: Rare | undefined;
  /** 1 while it is disposed, 2 when that is over. */
  closed: 0 | 1 | 2;
  /** In progress or done; only a promise where nobody else waits. */
  disposal: Disposal | Promise<void> | undefined;
  /** What is to be disposed or started, the newest first. */
  kept: Kept | undefined;
  /** When it was opened, in tenths of a second. */
  readonly opened: number;
}

export const rare = (scope: ScopeState): Rare =>
  (scope.rare ??= {
    pages: undefined,
    registered: undefined,
    starting: undefined,
    owned: undefined,
    rejected: undefined,
    given: undefined,
  });

// In a slot: the instance is being made; it was made, and is `undefined` (otherwise `undefined` is an empty slot).
export const BUSY = Symbol('busy');
export const UNDEFINED = Symbol('undefined');

/** Where in its array or page the slot is. */
export const indexOf = (slot: number): number => (slot < NEAR ? slot : slot % PAGE);

/** The page of a far slot. */
export function page(scope: ScopeState, slot: number): unknown[] {
  const number = (slot / PAGE) | 0;
  for (let one = scope.rare?.pages; one; one = one.next) if (one.number === number) return one.cells;
  // oxlint-disable-next-line no-new-array -- room for so many, which no other way of writing it gives
  const made = { number, cells: new Array<unknown>(PAGE), next: rare(scope).pages };
  rare(scope).pages = made;
  return made.cells;
}

/** The array or page of the slot. */
export const cells = (scope: ScopeState, slot: number): unknown[] => (slot < NEAR ? scope.slots : page(scope, slot));

/** Whether the scope, which is disposed, waits for the scopes below it: its own instances are all there. */
export const isWaiting = ({ disposal }: ScopeState): boolean => ((disposal as Disposal | undefined)?.pending ?? 0) > 0;

/** Whether the scope is making something right now. */
export function isMaking(scope: ScopeState): boolean {
  for (let one = scope.rare?.pages; one; one = one.next) if (one.cells.includes(BUSY)) return true;
  return scope.slots.includes(BUSY);
}

/** Whether the scope has made what the slot is for. */
export function isMade(scope: ScopeState, slot: number): boolean {
  const held = cells(scope, slot)[indexOf(slot)];
  return held !== undefined && held !== BUSY;
}

/** Which slot is for the instance of which binding. Slots are given on first use, so that scopes stay small in large graphs. */
class Slots {
  readonly free: number[] = [];

  constructor(
    readonly taken = new Map<Binding, number>(),
    private next = 0,
  ) {}

  /** How many slots are in use. */
  get size(): number {
    return this.next;
  }

  of(binding: Binding): number {
    let slot = this.taken.get(binding);
    if (slot === undefined) this.taken.set(binding, (slot = this.free.pop() ?? this.next++));
    return slot;
  }

  copy(): Slots {
    return new Slots(new Map(this.taken), this.next);
  }
}

let now = 0;
let isFresh = !hasClock;

/** Tenths of a second since the process started. Read from the clock at most ten times a second: a reading costs as much as opening a scope. */
export function tenths(): number {
  if (!isFresh) {
    isFresh = true;
    // A small integer: V8 would allocate any other number for each scope.
    now = (performance.now() / 100) | 0;
    setTimeout(() => (isFresh = false), 100).unref();
  }
  return now;
}

/** How long ago that was, for a message. */
export const ago = (then: number): string =>
  hasClock ? `${((performance.now() - then * 100) / 1000).toFixed(1)} s ago` : 'earlier';

/** A factory or decorator that is running. */
interface Frame {
  readonly key: Key;
  readonly shape: Shape;
  /** What `resolve` was called for, and by scopes of which shape, if it was since the frame before. */
  readonly root: Key | undefined;
  readonly rootShape: Shape | undefined;
  readonly before: Frame | undefined;
  readonly depth: number;
}

/** What is being resolved right now. */
export interface Progress {
  /** How many calls of `resolve` are making something. */
  resolving: number;
  /** The factories that are running, the latest first. */
  running: Frame | undefined;
  /** What `resolve` was called for last, and by scopes of which shape. */
  root: Key | undefined;
  rootShape: Shape | undefined;
}

export const progress: Progress = { resolving: 0, running: undefined, root: undefined, rootShape: undefined };

/** What `resolve` calls for a key that always makes something. */
export const fresh =
  (shape: Shape, key: Key, get: Resolver): Resolver =>
  (scope) => {
    progress.root = key;
    progress.rootShape = shape;
    progress.resolving++;
    try {
      return get(scope);
    } finally {
      progress.resolving--;
    }
  };

// A factory that runs within itself so many times, also through child scopes, is a circular dependency.
const MOST_ROUNDS = 100;
/** The longest chain of services that are made within one another. */
export const MOST_DEEP = 1000;

/** Calls a factory or decorator, which may call `resolve` itself; throws what `problem` returns where that never ends. */
export const within =
  (shape: Shape, key: Key, get: Resolver, problem: (isCircular: boolean) => Error): Resolver =>
  (scope: Scope) => {
    const { running: before, root, rootShape } = progress;
    const depth = before ? before.depth + 1 : 0;
    if (depth > MOST_ROUNDS) {
      const times = rounds(key);
      if (times > MOST_ROUNDS || depth > MOST_DEEP) throw problem(times > 0);
    }
    progress.running = { key, shape, root, rootShape, before, depth };
    progress.root = progress.rootShape = undefined;
    try {
      return get(scope);
    } finally {
      progress.running = before;
      progress.root = root;
      progress.rootShape = rootShape;
    }
  };

function rounds(key: Key): number {
  let count = 0;
  for (let frame = progress.running; frame; frame = frame.before) if (frame.key === key) count++;
  return count;
}

/** What a scope is opened with. */
export interface ScopeOptions {
  /** What the scope is for, such as `request`. Predicates of registrations read the tags. */
  readonly tags?: readonly string[];
}

/** The shape of a container with no scope around it. */
export function outermostShape(
  injectorOrOptions: Injector | ScopeOptions | null | undefined,
  second?: ScopeOptions,
): Shape {
  const first = injectorOrOptions ?? {};
  const injector = 'dependencies' in first ? first : undefined;
  const { tags = [] } = second ?? (injector ? {} : (first as ScopeOptions));
  return new Shape(undefined, checkedTags(tags), new Plans(injector ?? new MetadataInjector()), true);
}

/** Throws if the scope is disposed. */
export function refuseDisposed(scope: Scope, doing: string, key?: Key): void {
  if (!scope.closed) return;
  throw new ContainerError('AMBIT_DISPOSED', {
    key,
    about: `${doing}(${key === undefined ? '' : show(key)})`,
    tags: scope.shape.lineage,
    hint: `it was opened ${ago(scope.opened)}, and ${hintOf(key, `${doing} disposed`) ?? 'something outlived it: await all its work before dispose(), or use a scope with a longer lifetime'}`,
  });
}

/** The scopes below this one, the newest first, each followed by those below it. A loop, as scopes may nest deeper than calls. */
export function descendants<S extends Scope>(scope: S): S[] {
  const all: Scope[] = [];
  let at = scope.newest;
  while (at) {
    all.push(at);
    if (at.newest) at = at.newest;
    else {
      while (at && at !== scope && !at.older) at = at.parent;
      at = at === scope ? undefined : at?.older;
    }
  }
  // All scopes of an application are of one class.
  return all as S[];
}
