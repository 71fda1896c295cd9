import type { Container } from './container.js';
import type { Factory } from './contract.js';
import type { Kept } from './keeping.js';
import type { Key } from './keys.js';
import type { Starting } from './start.js';

/** The first slots of a scope are one array. A large graph has more, of which a scope uses few: these come in pages, when they are used. */
export const NEAR = 32;
const PAGE = 16;

interface Page {
  readonly number: number;
  readonly cells: unknown[];
  readonly next: Page | undefined;
}

/** What few scopes have, so that the others stay small. */
export interface Rare {
  pages: Page | undefined;
  /** Factories registered under keys that nothing depends on. */
  direct: Map<Key, Factory> | undefined;
  starting: Starting | undefined;
  /** An index of the older part of `kept`. */
  owned: { readonly objects: Set<unknown>; to: Kept | undefined } | undefined;
  /** The last async factory that failed and has not succeeded since; `start()` reports it. */
  rejected: { readonly key: Key; readonly cause: unknown } | undefined;
  /** What factories were given from outside. */
  given: WeakSet<object> | undefined;
}

export const rare = (scope: Container): Rare =>
  (scope.rare ??= {
    pages: undefined,
    direct: undefined,
    starting: undefined,
    owned: undefined,
    rejected: undefined,
    given: undefined,
  });

// In a slot: being made now; made, and the value is `undefined`, which means an empty slot otherwise.
export const BUSY = Symbol('busy');
export const UNDEFINED = Symbol('undefined');

/** Where in its array or page the slot is. */
export const indexOf = (slot: number): number => (slot < NEAR ? slot : slot % PAGE);

/** The page of a far slot. */
export function page(scope: Container, slot: number): unknown[] {
  const number = (slot / PAGE) | 0;
  for (let one = scope.rare?.pages; one; one = one.next) if (one.number === number) return one.cells;
  // oxlint-disable-next-line no-new-array -- room for so many, which no other way of writing it gives
  const made = { number, cells: new Array<unknown>(PAGE), next: rare(scope).pages };
  rare(scope).pages = made;
  return made.cells;
}

/** The array or page of the slot. */
export const cells = (scope: Container, slot: number): unknown[] => (slot < NEAR ? scope.slots : page(scope, slot));

/** Whether the scope is making something right now. */
export function isMaking(scope: Container): boolean {
  for (let one = scope.rare?.pages; one; one = one.next) if (one.cells.includes(BUSY)) return true;
  return scope.slots.includes(BUSY);
}

/** Which slot is for what. Slots are given on first use, so that scopes stay small in large graphs. */
export class Slots<Owner> {
  private readonly free: number[] = [];

  constructor(
    private readonly taken = new Map<Owner, number>(),
    private next = 0,
  ) {}

  /** How many slots have been given. */
  get size(): number {
    return this.next;
  }

  of(owner: Owner): number {
    let slot = this.taken.get(owner);
    if (slot === undefined) this.taken.set(owner, (slot = this.free.pop() ?? this.next++));
    return slot;
  }

  /** The slot, if it was given. */
  find(owner: Owner): number | undefined {
    return this.taken.get(owner);
  }

  /** Frees the slot, for which the scope must be the only one; what is being made there keeps it. */
  release(owner: Owner, scope: Container): void {
    const slot = this.taken.get(owner);
    if (slot === undefined || cells(scope, slot)[indexOf(slot)] === BUSY) return;
    cells(scope, slot)[indexOf(slot)] = undefined;
    this.taken.delete(owner);
    this.free.push(slot);
  }

  copy(): Slots<Owner> {
    return new Slots(new Map(this.taken), this.next);
  }
}

/** Whether the scope has made what the slot is for. */
export function isMade(scope: Container, slot: number): boolean {
  const held = cells(scope, slot)[indexOf(slot)];
  return held !== undefined && held !== BUSY;
}
