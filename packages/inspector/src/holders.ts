import type { Lateness } from './loop.js';
import { ms } from './names.js';
import type { RequestRecord } from './requests.js';
import type { Where } from './where.js';
import type { HeldBy } from './wire.js';

/** What a transaction did for a time: one statement, or none after one. */
interface Stretch {
  readonly isStatement: boolean;
  readonly from: number;
  readonly to: number;
  /** Of the statement, or of the one before. */
  readonly place: Where | undefined;
}

/** A transaction of this process: it has a connection, and locks on what it has changed. */
interface Held {
  /** The pool of its connection, where it is known. */
  readonly pool: object | undefined;
  readonly request: RequestRecord | undefined;
  readonly since: number;
  until: number | undefined;
  /** COMMIT or ROLLBACK was sent. */
  ending: boolean;
  /** Its longest so far. */
  longest: Stretch | undefined;
  /** The line of its last statement, and when that was complete. */
  last: Where | undefined;
  lastAt: number;
  /** The tables that it has changed or locked, and the line that did so first. */
  readonly changed: Map<string, Where | undefined>;
}

/** What has ended is looked at by those who waited for it, which is within the same milliseconds. */
const MOST_ENDED = 256;
/** Databases wake who waits before or after they respond to COMMIT, and a busy process hears of either late. */
const SAME_MOMENT_MS = 20;
/** Who had a connection for a shorter time, and not for half of the waiting, is not to blame. */
const SHORT_MS = 100;
const MOST_ASKED = 10;
const NAME = String.raw`(?:only\s+)?((?:"[^"]+"|[\w$]+)(?:\.(?:"[^"]+"|[\w$]+))?)`;
const UPDATE = String.raw`(?<!\b(?:do|for|key)\s+)update(?:\s+(?:low_priority|ignore|or\s+\w+))*`;
const INSERT = String.raw`(?:insert|replace)(?:\s+(?:low_priority|ignore|or\s+\w+))*\s+into`;
const CHANGES = new RegExp(String.raw`\b(?:${UPDATE}|${INSERT}|delete\s+from|merge\s+into)\s+${NAME}`, 'gi');
const READS = new RegExp(String.raw`\b(?:from|join)\s+${NAME}`, 'gi');

/** Who has held what others waited for. It knows only what the transactions of this process have sent. */
export class Holders {
  readonly #open = new Map<object, Held>();
  readonly #ended: Held[] = [];
  readonly #lateness: Lateness;
  readonly #pools = new WeakSet();
  #numberOfPools = 0;
  /** When the last statement outside of a transaction returned its connection. */
  #returned: number | undefined;

  constructor(lateness: Lateness) {
    this.#lateness = lateness;
  }

  /** A pool is in use. */
  uses(pool: object): void {
    if (this.#pools.has(pool)) return;
    this.#pools.add(pool);
    this.#numberOfPools++;
  }

  acquired(scope: object, request: RequestRecord | undefined, now: number, pool?: object): void {
    const none = { until: undefined, ending: false, longest: undefined, last: undefined };
    this.#open.set(scope, { ...none, pool, request, since: now, lastAt: now, changed: new Map() });
  }

  /** @param sql - without literals */
  statement(scope: object, sql: string, place: Where | undefined, { now = 0, took = 0 } = {}): void {
    const held = this.#open.get(scope);
    if (!held) return;
    held.longest = longer(pauseOf(held, now - took), held.longest);
    held.longest = longer({ isStatement: true, from: now - took, to: now, place }, held.longest);
    held.last = place ?? held.last;
    held.lastAt = now;
    for (const table of lockedBy(sql)) if (!held.changed.has(table)) held.changed.set(table, place);
  }

  /** A connection of a statement outside of transactions was returned. */
  returned(now: number): void {
    this.#returned = now;
  }

  ending(scope: object): void {
    const held = this.#open.get(scope);
    if (held) held.ending = true;
  }

  ended(scope: object, now: number): void {
    const held = this.#open.get(scope);
    if (!held) return;
    held.longest = longer(pauseOf(held, now), held.longest);
    held.until = now;
    this.#open.delete(scope);
    if (this.#ended.push(held) > MOST_ENDED) this.#ended.shift();
  }

  /**
   * Who had connections of this pool while another waited for one: the route that had them for most of that time. Where nobody returned one when
   * the waiting ended, the pool may have opened it.
   */
  ofConnection(pool: object | undefined, from: number, to: number, gotNone: boolean): HeldBy | undefined {
    // Of several pools, those of whom nobody knows the pool may have had a connection of another one.
    const isOnly = this.#numberOfPools <= 1;
    const holders = this.#during(from, to).filter((held) => isOnly || (pool !== undefined && held.pool === pool));
    const isReturned = [...holders.map(({ until }) => until), this.#returned].some((at) => this.#isSameMoment(at, to));
    if (!gotNone && !isReturned) return undefined;
    const share = ({ since, until = to }: Held): number => Math.min(until, to) - Math.max(since, from);
    const shares = new Map<string, number>();
    for (const held of holders) shares.set(nameOf(held), (shares.get(nameOf(held)) ?? 0) + share(held));
    const [most] = [...shares].toSorted(([, one], [, other]) => other - one);
    const theirs = holders
      .filter((held) => nameOf(held) === most?.[0])
      .toSorted((one, other) => share(other) - share(one));
    const found = theirs.slice(0, MOST_ASKED).find((held) => this.#doing(held, to)) ?? theirs[0];
    if (!found || !most) return undefined;
    const wait = to - from;
    const isShort = (held: Held): boolean => (held.until ?? to) - held.since < Math.min(SHORT_MS, wait / 2);
    const doing = this.#doing(found, to);
    if (!doing || most[1] < wait / 2 || isShort(found))
      return { ...this.#shown(longest(holders) ?? found, to, undefined), among: holders.length };
    return this.#shown(found, to, doing.place);
  }

  /** Who had locked what this statement changes or locks, while it waited. */
  ofLock(scope: object, sql: string, from: number, to: number): HeldBy | undefined {
    const tables = lockedBy(sql);
    const own = this.#open.get(scope);
    const others = this.#during(from, to).filter((held) => held !== own && held.since <= from);
    const holders = others.filter(({ changed }) => tables.some((table) => changed.has(table)));
    const ended = holders.filter((held) => this.#hasLetGo(held, to));
    const found = longest(ended.length > 0 ? ended : holders);
    return found && this.#shown(found, to, tables.map((table) => found.changed.get(table)).find(Boolean));
  }

  #shown(held: Held, to: number, place: Where | undefined): HeldBy {
    const where = place?.line;
    const doing = this.#doing(held, to)?.what;
    return {
      ...(held.request && { request: held.request.id }),
      name: nameOf(held),
      ...(where !== undefined && { where }),
      ...(doing !== undefined && { doing }),
      milliseconds: (held.until ?? to) - held.since,
      ended: this.#hasLetGo(held, to),
    };
  }

  /** What it did for most of the time, if that was one thing, and the line. */
  #doing(held: Held, to: number): { readonly what: string; readonly place: Where | undefined } | undefined {
    const end = held.until ?? to;
    const { isStatement, from, to: until, place } = longer(pauseOf(held, end), held.longest);
    const half = (end - held.since) / 2;
    const awaited = isStatement || until - from < half ? undefined : held.request?.awaited(from, until);
    if (awaited) return { what: `${awaited.what}${at(awaited.place)}`, place: awaited.place };
    // The process may have been too busy to go on with it.
    const milliseconds = until - from - this.#lateness.within(from, until);
    if (milliseconds < half) return undefined;
    if (isStatement) return { what: `one statement took ${ms(milliseconds)}${at(place)}`, place };
    return { what: `it sent no statement for ${ms(milliseconds)} after ${place?.line ?? 'BEGIN'}`, place };
  }

  #hasLetGo({ ending, until }: Held, to: number): boolean {
    return until === undefined ? ending : this.#isSameMoment(until, to);
  }

  #isSameMoment(until: number | undefined, to: number): boolean {
    return until !== undefined && to - until - this.#lateness.within(until, to) <= SAME_MOMENT_MS;
  }

  #during(from: number, to: number): Held[] {
    return [...this.#open.values(), ...this.#ended].filter(({ since, until = to }) => since <= to && until >= from);
  }
}

const nameOf = ({ request }: Held): string => request?.name ?? 'work outside of requests';

const at = (place: Where | undefined): string => (place?.line === undefined ? '' : ` at ${place.line}`);

const pauseOf = ({ lastAt, last }: Held, to: number): Stretch => ({
  isStatement: false,
  from: lastAt,
  to,
  place: last,
});

const longer = (one: Stretch, other: Stretch | undefined): Stretch =>
  other && other.to - other.from > one.to - one.from ? other : one;

/** The tables that a statement changes or locks, in small letters. */
export function lockedBy(sql: string): string[] {
  const patterns = /\bfor\s+(?:no\s+key\s+)?update\b|\bfor\s+share\b/i.test(sql) ? [CHANGES, READS] : [CHANGES];
  const names = patterns.flatMap((pattern) => Array.from(sql.matchAll(pattern), ([, name = '']) => name));
  return names.map((name) => name.replaceAll('"', '').toLowerCase());
}

const longest = (held: readonly Held[]): Held | undefined => held.toSorted((one, other) => one.since - other.since)[0];
