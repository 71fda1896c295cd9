import type { Where } from './where.js';

/** The responses of a route by status; the failures of a statement, and its calls outside of a transaction; the instances of a service. */
type Counts = Partial<
  Record<'aborted' | 'alive' | 'failed' | 'outside' | 'refused' | 'rolledBack' | 'statementMs' | 'statements', number>
>;

/** The counts under one name since the recording began: a route, a statement, or a service as `application > request: IUsers`. */
export type Total = ReturnType<Row['read']>;

/** So many buckets for each doubling: a percentile is at most 4.5 % too high. */
const PER_DOUBLING = 16;
const SHORTEST_MS = 0.001;
/** The number of routes that a row lists. */
const MOST_ROUTES = 8;

/** Counts and durations under one name. Durations are in buckets that grow by a factor, so that any number of them takes the same memory. */
export class Row {
  readonly #counts: Counts = {};
  /** The line that was the first to do it. */
  place: Where | undefined;
  readonly #routes = new Set<string>();
  readonly #buckets = new Map<number, number>();
  #count = 0;
  #total = 0;
  #longest = 0;

  took(milliseconds: number, route?: string): void {
    this.#count++;
    this.#total += milliseconds;
    this.#longest = Math.max(this.#longest, milliseconds);
    const bucket = Math.ceil(PER_DOUBLING * Math.log2(Math.max(milliseconds, SHORTEST_MS) / SHORTEST_MS));
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + 1);
    if (route !== undefined && this.#routes.size < MOST_ROUTES) this.#routes.add(route);
  }

  count(what: keyof Counts, by = 1): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + by;
  }

  read(name: string) {
    const [p50, p95, p99] = [this.#percentile(50), this.#percentile(95), this.#percentile(99)];
    const times = { count: this.#count, total: this.#total, p50, p95, p99, longest: this.#longest };
    const where = this.place?.line;
    return { name, ...times, ...(where !== undefined && { where }), routes: [...this.#routes], ...this.#counts };
  }

  #percentile(percent: number): number {
    let left = Math.ceil((this.#count * percent) / 100);
    for (const [bucket, count] of [...this.#buckets].toSorted(([one], [other]) => one - other)) {
      left -= count;
      if (left <= 0) return Math.min(this.#longest, SHORTEST_MS * 2 ** (bucket / PER_DOUBLING));
    }
    return this.#longest;
  }
}

/** Rows by their name, up to a number: names may be made from data, and further ones are not counted. */
export class Totals {
  readonly #rows = new Map<string, Row>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  row(name: string): Row | undefined {
    const known = this.#rows.get(name);
    if (known || this.#rows.size >= this.#most) return known;
    const row = new Row();
    this.#rows.set(name, row);
    return row;
  }

  all(): Total[] {
    return Array.from(this.#rows, ([name, row]) => row.read(name));
  }
}
