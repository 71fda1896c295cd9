import { hasClock, setTimeout } from '#platform';
import type { Binding } from './binding.js';
import type { Failure } from './errors.js';
import type { Key } from './keys.js';

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
export class Slots {
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
let fresh = !hasClock;

/** Tenths of a second since the process started. Read from the clock at most ten times a second: a reading costs as much as opening a scope. */
export function tenths(): number {
  if (!fresh) {
    fresh = true;
    // A small integer: V8 would allocate any other number for each scope.
    now = (performance.now() / 100) | 0;
    setTimeout(() => (fresh = false), 100).unref();
  }
  return now;
}

/** How long ago that was, for a message. */
export const ago = (then: number): string =>
  hasClock ? `${((performance.now() - then * 100) / 1000).toFixed(1)} s ago` : 'earlier';
