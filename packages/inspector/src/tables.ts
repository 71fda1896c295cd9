import type { RequestSummary, RouteStats, ServiceStats, StatementStats } from './wire.js';
import type { Where } from './where.js';

/** So many buckets for each doubling: a percentile is at most 4.5 % too high. */
const PER_DOUBLING = 16;
const SHORTEST_MS = 0.001;

/** Durations in buckets that grow by a factor, so that percentiles of any number of them take the same memory. */
class Durations {
  count = 0;
  total = 0;
  longest = 0;
  readonly #buckets = new Map<number, number>();

  add(milliseconds: number): void {
    this.count++;
    this.total += milliseconds;
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

/** Rows by their name, up to a number: names may be made from data, and further ones are not counted. */
class Rows<Row> extends Map<string, Row> {
  readonly #most: number;
  readonly #make: () => Row;

  constructor(most: number, make: () => Row) {
    super();
    this.#most = most;
    this.#make = make;
  }

  row(name: string): Row | undefined {
    const known = this.get(name);
    if (known || this.size >= this.#most) return known;
    const row = this.#make();
    this.set(name, row);
    return row;
  }
}

const MOST_ROWS = 1000;
const MOST_SERVICES = 2000;
/** How many routes the row of a statement lists. */
const MOST_ROUTES = 8;

/** The requests since the recording started, by their route. */
export class RouteTable {
  readonly #rows = new Rows(MOST_ROWS, () => ({
    durations: new Durations(),
    counts: { aborted: 0, failed: 0, refused: 0, rolledBack: 0, statements: 0, statementMs: 0 },
  }));

  /** Adds a request that is complete. */
  add(request: RequestSummary): void {
    const { method, route, state, status = 0, milliseconds = 0, outcome, statements, statementMs } = request;
    const { durations, counts } = this.#rows.row(`${method} ${route}`) ?? {};
    if (!durations || !counts) return;
    durations.add(milliseconds);
    if (state === 'aborted') counts.aborted++;
    else if (status >= 500) counts.failed++;
    else if (status >= 400) counts.refused++;
    if (outcome !== undefined && outcome !== 'committed') counts.rolledBack++;
    counts.statements += statements;
    counts.statementMs += statementMs;
  }

  all(): RouteStats[] {
    return Array.from(this.#rows, ([name, { durations, counts }]) => {
      const [method = '', ...route] = name.split(' ');
      const [p50, p95, p99] = [50, 95, 99].map((percent) => durations.percentile(percent)) as [number, number, number];
      const { count, longest, total } = durations;
      return { method, route: route.join(' '), ...counts, count, p50, p95, p99, longest, total };
    });
  }
}

interface Sent {
  readonly sql: string;
  readonly took: number;
  readonly failed: boolean;
  readonly outside: boolean;
  readonly place: Where | undefined;
  /** The route of the request that sent it. */
  readonly route: string | undefined;
}

/** The statements since the recording started, by their text. */
export class StatementTable {
  readonly #rows = new Rows(MOST_ROWS, () => ({
    durations: new Durations(),
    place: undefined as Where | undefined,
    routes: new Set<string>(),
    failed: 0,
    outside: 0,
  }));

  add({ sql, took, failed, outside, place, route }: Sent): void {
    const row = this.#rows.row(sql);
    if (!row) return;
    row.durations.add(took);
    row.place ??= place;
    if (failed) row.failed++;
    if (outside) row.outside++;
    if (route !== undefined && row.routes.size < MOST_ROUTES) row.routes.add(route);
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
}

/** The instances of one key in one kind of scope. */
export interface ServiceCount {
  created: number;
  alive: number | undefined;
  totalMs: number;
  longestMs: number;
}

/** The services that were created since the recording started. */
export class ServiceTable {
  readonly #rows = new Rows<ServiceCount>(MOST_SERVICES, () => ({
    created: 0,
    alive: undefined,
    totalMs: 0,
    longestMs: 0,
  }));

  /** @param isKept - by its scope: of a transient one nobody knows for how long it is alive */
  created(box: string, key: string, milliseconds: number, isKept: boolean): ServiceCount | undefined {
    const count = this.#rows.row(`${box}\n${key}`);
    if (!count) return undefined;
    count.created++;
    count.totalMs += milliseconds;
    count.longestMs = Math.max(count.longestMs, milliseconds);
    if (isKept) count.alive = (count.alive ?? 0) + 1;
    return count;
  }

  removed(count: ServiceCount): void {
    if (count.alive !== undefined) count.alive--;
  }

  all(): ServiceStats[] {
    return Array.from(this.#rows, ([name, { created, alive, totalMs, longestMs }]) => {
      const [box = '', key = ''] = name.split('\n');
      return { box, key, created, ...(alive !== undefined && { alive }), averageMs: totalMs / created, longestMs };
    });
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
