import { Rate } from './rate.js';
import type { ScopeEntry } from './scope-entry.js';
import type { KindNow, OpenScope } from './wire.js';

interface Kind {
  open: number;
  readonly opened: Rate;
  readonly closed: Rate;
}

/** If tags are made from data, kinds beyond this number are counted together. */
const MOST_KINDS = 100;
const THE_REST = 'other kinds';
/** Beyond this number, open scopes are counted but not listed. */
const MOST_LISTED = 5000;
const MOST_SHOWN = 40;

/** The scopes that are open, by kind and by age. */
export class OpenScopes {
  readonly #kinds = new Map<string, Kind>();
  /** In order of opening, so the oldest come first. */
  readonly #listed = new Map<number, ScopeEntry>();

  get hasCapacity(): boolean {
    return this.#listed.size < MOST_LISTED;
  }

  add(entry: ScopeEntry, now: number): void {
    const kind = this.#kind(entry.box);
    kind.open++;
    if (!entry.atLeast) kind.opened.add(now);
    if (this.hasCapacity) this.#listed.set(entry.id, entry);
  }

  remove(entry: ScopeEntry, now: number): void {
    const kind = this.#kind(entry.box);
    kind.open--;
    kind.closed.add(now);
    this.#listed.delete(entry.id);
  }

  /** Keeps it counted but not listed: the application scope is open all the time. */
  unlist(entry: ScopeEntry | undefined): void {
    if (entry) this.#listed.delete(entry.id);
  }

  *olderThan(then: number): Generator<ScopeEntry> {
    for (const entry of this.#listed.values()) {
      if (entry.opened > then) return;
      yield entry;
    }
  }

  kinds(now: number): KindNow[] {
    return Array.from(this.#kinds, ([box, { open, opened, closed }]) => ({
      box,
      open,
      openedPerSecond: opened.perSecond(now),
      closedPerSecond: closed.perSecond(now),
    }));
  }

  oldest(now: number): OpenScope[] {
    return this.#first(MOST_SHOWN).map((entry) => ({
      id: entry.id,
      box: entry.box,
      age: now - entry.opened,
      atLeast: entry.atLeast,
      old: entry.old,
      ...(entry.old && entry.where && { where: entry.where.lines() }),
      ...(entry.request && { request: entry.request.id }),
    }));
  }

  #first(most: number): ScopeEntry[] {
    const first: ScopeEntry[] = [];
    for (const entry of this.#listed.values()) if (first.push(entry) === most) break;
    return first;
  }

  #kind(box: string): Kind {
    const name = this.#kinds.has(box) || this.#kinds.size < MOST_KINDS ? box : THE_REST;
    let kind = this.#kinds.get(name);
    if (!kind) this.#kinds.set(name, (kind = { open: 0, opened: new Rate(), closed: new Rate() }));
    return kind;
  }
}
