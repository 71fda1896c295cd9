import type { RequestRecord } from './requests.js';
import { Rate, type ServiceCount } from './tables.js';
import type { Where } from './where.js';
import type { KindNow, LeakGroup, OpenScope } from './wire.js';

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

/** The facts about an open scope. It keeps no reference to the container, so the inspector keeps nothing in memory. */
export interface ScopeEntry {
  readonly id: number;
  readonly box: string;
  readonly opened: number;
  /** It was open before the page was. */
  readonly atLeast: boolean;
  readonly request: RequestRecord | undefined;
  readonly span: number | undefined;
  readonly where: Where | undefined;
  readonly services: ServiceCount[];
  inTransaction: boolean;
  /** It is older than the limit. */
  old: boolean;
  /** It is older than the limit, and its request is complete. */
  leaked: boolean;
}

export function newEntry(
  known: Pick<ScopeEntry, 'atLeast' | 'box' | 'id' | 'opened' | 'request' | 'where'>,
): ScopeEntry {
  const span = known.request?.openSpan(known.box, known.opened);
  return { ...known, span, services: [], inTransaction: false, old: false, leaked: false };
}

const MOST_GROUPS = 50;
const MOST_REQUESTS = 5;

/** The scopes that leaked and are still open, by the place in the code that opened them. */
export class LeakGroups {
  readonly #groups = new Map<string, Set<ScopeEntry>>();

  add(entry: ScopeEntry): void {
    const id = [entry.box, ...placeOf(entry)].join('\n');
    const group = this.#groups.get(id);
    if (group) group.add(entry);
    else if (this.#groups.size < MOST_GROUPS) this.#groups.set(id, new Set([entry]));
  }

  closed(entry: ScopeEntry): void {
    if (!entry.leaked) return;
    for (const [id, group] of this.#groups) if (group.delete(entry) && group.size === 0) this.#groups.delete(id);
  }

  groups(now: number): LeakGroup[] {
    return Array.from(this.#groups.values(), (group) => groupOf([...group], now));
  }
}

function groupOf(entries: readonly ScopeEntry[], now: number): LeakGroup {
  const [oldest] = entries as readonly [ScopeEntry];
  const requests = entries.flatMap(({ request }) => request?.id ?? []);
  return {
    box: oldest.box,
    where: placeOf(oldest),
    open: entries.length,
    age: now - oldest.opened,
    requests: [...new Set(requests)].slice(-MOST_REQUESTS),
  };
}

function placeOf({ where }: ScopeEntry): readonly string[] {
  return where?.lines() ?? [];
}
