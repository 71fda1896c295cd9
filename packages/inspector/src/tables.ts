import type { Where } from './where.js';
import type { NamesFrom, RequestSummary, RouteStats, ServiceStats, StatementStats } from './wire.js';

/** So many buckets for each doubling: a percentile is at most 4.5 % too high. */
const PER_DOUBLING = 16;
const SHORTEST_MS = 0.001;

/** Durations in buckets that grow by a factor, so that percentiles of any number of them take the same memory. */
class Durations {
  count = 0;
  total = 0;
  shortest = Infinity;
  longest = 0;
  readonly #buckets = new Map<number, number>();

  add(milliseconds: number): void {
    this.count++;
    this.total += milliseconds;
    this.shortest = Math.min(this.shortest, milliseconds);
    this.longest = Math.max(this.longest, milliseconds);
    const bucket = Math.ceil(PER_DOUBLING * Math.log2(Math.max(milliseconds, SHORTEST_MS) / SHORTEST_MS));
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + 1);
  }

  percentile(percent: number): number {
    let left = Math.ceil((this.count * percent) / 100);
    for (const [bucket, count] of [...this.#buckets].toSorted(([one], [other]) => one - other)) {
      left -= count;
      if (left <= 0) return Math.min(this.longest, SHORTEST_MS * 2 ** (bucket / PER_DOUBLING));
    }
    return this.longest;
  }
}

type RouteRow = { durations: Durations } & Record<
  'aborted' | 'failed' | 'refused' | 'rolledBack' | 'statementMs' | 'statements',
  number
>;

/** If routes are made from data, those beyond this number are not counted. */
const MOST_ROWS = 1000;

/** The requests since the recording started, by their route. */
export class RouteTable {
  readonly #rows = new Map<string, RouteRow & Pick<RouteStats, 'method' | 'route'>>();

  /** Adds a request that is complete. */
  add(request: RequestSummary): void {
    const { method, route, state, status = 0, milliseconds = 0, outcome, statements, statementMs } = request;
    const row = this.#rowOf(method, route);
    if (!row) return;
    row.durations.add(milliseconds);
    if (state === 'aborted') row.aborted++;
    else if (status >= 500) row.failed++;
    else if (status >= 400) row.refused++;
    if (outcome !== undefined && outcome !== 'committed') row.rolledBack++;
    row.statements += statements;
    row.statementMs += statementMs;
  }

  all(): RouteStats[] {
    return Array.from(this.#rows.values(), ({ durations, ...row }) => ({
      ...row,
      count: durations.count,
      p50: durations.percentile(50),
      p95: durations.percentile(95),
      p99: durations.percentile(99),
      longest: durations.longest,
      total: durations.total,
    }));
  }

  #rowOf(method: string, route: string): RouteRow | undefined {
    const id = `${method} ${route}`;
    const known = this.#rows.get(id);
    if (known || this.#rows.size >= MOST_ROWS) return known;
    const none = { aborted: 0, failed: 0, refused: 0, rolledBack: 0, statements: 0, statementMs: 0 };
    const row = { method, route, durations: new Durations(), ...none };
    this.#rows.set(id, row);
    return row;
  }
}

interface Sent {
  readonly sql: string;
  readonly took: number;
  readonly failed: boolean;
  readonly outside?: boolean;
  readonly place: Where | undefined;
  /** The request that sent it. */
  readonly route: string | undefined;
}

interface StatementRow {
  readonly durations: Durations;
  readonly place: Where | undefined;
  readonly routes: Set<string>;
  failed: number;
  outside: number;
}

const MOST_TEXTS = 1000;
const MOST_ROUTES = 8;

/** The statements since the recording started, by their text. */
export class StatementTable {
  readonly #rows = new Map<string, StatementRow>();

  add({ sql, took, failed, outside = false, place, route }: Sent): void {
    const row = this.#rows.get(sql) ?? this.#newRow(sql, place);
    if (!row) return;
    row.durations.add(took);
    if (failed) row.failed++;
    if (outside) row.outside++;
    if (route !== undefined && row.routes.size < MOST_ROUTES) row.routes.add(route);
  }

  /** Of those so far; 0 where there are none. */
  shortestOf(sql: string): number {
    return this.#rows.get(sql)?.durations.shortest ?? 0;
  }

  all(): StatementStats[] {
    return Array.from(this.#rows, ([sql, { durations, place, routes, failed, outside }]) => ({
      sql,
      count: durations.count,
      failed,
      outside,
      totalMs: durations.total,
      p95: durations.percentile(95),
      longestMs: durations.longest,
      ...(place?.line !== undefined && { where: place.line }),
      routes: [...routes],
    }));
  }

  #newRow(sql: string, place: Where | undefined): StatementRow | undefined {
    if (this.#rows.size >= MOST_TEXTS) return undefined;
    const row: StatementRow = { durations: new Durations(), place, routes: new Set(), failed: 0, outside: 0 };
    this.#rows.set(sql, row);
    return row;
  }
}

/** If texts are made from data, those beyond this number are counted as one. */
const MOST_NAMES = 3000;
const THE_REST = '(others)';

/** Texts that a page needs again and again, each sent once and named by its index from then on. */
export class NamesTable {
  readonly #indexes = new Map<string, number>();
  readonly #names: string[] = [];
  #sent = 0;

  indexOf(name: string): number {
    const known = this.#indexes.get(name);
    if (known !== undefined) return known;
    if (this.#names.length >= MOST_NAMES && name !== THE_REST) return this.indexOf(THE_REST);
    this.#indexes.set(name, this.#names.length);
    return this.#names.push(name) - 1;
  }

  all(): NamesFrom {
    return { from: 0, texts: this.#names };
  }

  takeNew(): NamesFrom {
    const from = this.#sent;
    this.#sent = this.#names.length;
    return { from, texts: this.#names.slice(from) };
  }
}

/** The instances of one key in one kind of scope. */
export class ServiceCount {
  readonly box: string;
  readonly key: string;
  created = 0;
  alive: number | undefined;
  #totalMs = 0;
  #longestMs = 0;

  constructor(box: string, key: string) {
    this.box = box;
    this.key = key;
  }

  add(milliseconds: number): void {
    this.created++;
    this.#totalMs += milliseconds;
    this.#longestMs = Math.max(this.#longestMs, milliseconds);
  }

  toJSON(): ServiceStats {
    const { box, key, created, alive } = this;
    const averageMs = this.#totalMs / created;
    return { box, key, created, ...(alive !== undefined && { alive }), averageMs, longestMs: this.#longestMs };
  }
}

/** If keys are made from data, services beyond this number are not counted. */
const MOST_SERVICES = 2000;

export class ServiceCounts {
  readonly #all = new Map<string, ServiceCount>();
  #changed = new Set<ServiceCount>();

  /** An instance that its scope keeps. */
  created(box: string, key: string, milliseconds: number): ServiceCount | undefined {
    const count = this.transientCreated(box, key, milliseconds);
    if (count) count.alive = (count.alive ?? 0) + 1;
    return count;
  }

  transientCreated(box: string, key: string, milliseconds: number): ServiceCount | undefined {
    const id = `${box}\n${key}`;
    let count = this.#all.get(id);
    if (!count) {
      if (this.#all.size >= MOST_SERVICES) return undefined;
      this.#all.set(id, (count = new ServiceCount(box, key)));
    }
    count.add(milliseconds);
    this.#changed.add(count);
    return count;
  }

  removed(count: ServiceCount): void {
    if (count.alive !== undefined) count.alive--;
    this.#changed.add(count);
  }

  all(): ServiceStats[] {
    return Array.from(this.#all.values(), (count) => count.toJSON());
  }

  takeChanged(): ServiceStats[] {
    const changed = this.#changed;
    this.#changed = new Set();
    return Array.from(changed, (count) => count.toJSON());
  }
}

/** How often something happens in a second. */
export class Rate {
  #second = -1;
  #count = 0;
  #before = 0;

  /** Returns how often it happened in this second so far. */
  add(now: number): number {
    this.#roll(now);
    return ++this.#count;
  }

  /** In the last whole second. */
  perSecond(now: number): number {
    this.#roll(now);
    return this.#before;
  }

  #roll(now: number): void {
    const second = Math.floor(now / 1000);
    if (second === this.#second) return;
    this.#before = second === this.#second + 1 ? this.#count : 0;
    this.#count = 0;
    this.#second = second;
  }
}
