import type { RequestRecord } from './requests.js';
import type { Sign } from './signs.js';
import type { Where } from './where.js';

/** So many responses in a row are a rule. */
export const IN_A_ROW = 5;
/** The number of routes that a row lists. */
const MOST_ROUTES = 8;

/** The responses of a route. */
export class Responses {
  /** By status, so that frequent requests do not push out a rare one. */
  readonly newest = new Map<number, RequestRecord>();
  /** All of the newest are refused. */
  turned: Sign | undefined;
  /** The numbers of responses in a row that were good, and after them of one refusal. */
  #good = 0;
  #refused = 0;
  #lastGood = 0;
  #lastRefusal = 0;

  /** Returns the status of before, where all responses were good and now as many in a row are the same refusal. */
  responded(status: number): number | undefined {
    if (status < 400) {
      if (this.#refused > 0) this.#good = 0;
      [this.#good, this.#lastGood, this.#refused] = [this.#good + 1, status, 0];
      return undefined;
    }
    this.#refused = status === this.#lastRefusal ? this.#refused + 1 : 1;
    this.#lastRefusal = status;
    return this.#refused === IN_A_ROW && this.#good >= IN_A_ROW ? this.#lastGood : undefined;
  }
}

/** The newest starts of work that tell its interval. */
const MOST_STARTS = 4;
/** Below it, runs are begun together, or by a queue. */
const LEAST_INTERVAL_MS = 50;

/** For so many intervals a timer that works is not late. */
const MOST_MISSED = 10;
const LEAST_SILENCE_MS = 30_000;

/** The runs of work, or of a statement, outside of requests. */
export class Runs {
  running = 0;
  /** The code that begins them. */
  place: Where | undefined;
  /** The ids of the troubles with which the newest one has failed: those of its work, also what is found in it later. */
  troubles: readonly string[] = [];
  #isMissed = false;
  /** In a row. */
  #failed = 0;
  #starts: number[] = [];

  /** Returns the interval, where it is a timer's, and another run goes on. */
  begins(now: number, place: Where): number | undefined {
    this.#starts = [...this.#starts, now].slice(-MOST_STARTS);
    this.place = place;
    this.#isMissed = false;
    return ++this.running === 1 ? undefined : this.#interval();
  }

  /** Returns the interval, and since when no run has begun, once in each time in which many should have. */
  stopped(now: number): { interval: number; since: number } | undefined {
    const since = this.#starts.at(-1) ?? now;
    const interval = this.#isMissed || this.running > 0 ? undefined : this.#interval();
    if (interval === undefined || now - since < Math.max(MOST_MISSED * interval, LEAST_SILENCE_MS)) return undefined;
    this.#isMissed = true;
    return { interval, since };
  }

  #interval(): number | undefined {
    if (this.#starts.length < MOST_STARTS) return undefined;
    const gaps = this.#starts.slice(1).map((start, i) => start - (this.#starts[i] ?? 0));
    const [least, most] = [Math.min(...gaps), Math.max(...gaps)];
    const all = gaps.reduce((sum, gap) => sum + gap, 0);
    return least >= LEAST_INTERVAL_MS && most <= 1.5 * least ? all / gaps.length : undefined;
  }

  /** Returns the number of runs in a row that have failed. @param troubles - of the run, where it has failed */
  ends(troubles?: readonly string[]): number {
    this.running--;
    this.troubles = troubles ?? [];
    return (this.#failed = troubles ? this.#failed + 1 : 0);
  }
}

/** A statement since the recording began. */
export class Row {
  /** The line that was the first to send it. */
  place: Where | undefined;
  /** With its literals, for a plan; nothing shows it. */
  sql: string | undefined;
  failed = 0;
  readonly #routes = new Set<string>();
  #count = 0;
  #total = 0;
  #longest = 0;

  took(milliseconds: number, route?: string): void {
    this.#count++;
    this.#total += milliseconds;
    this.#longest = Math.max(this.#longest, milliseconds);
    if (route !== undefined && this.#routes.size < MOST_ROUTES) this.#routes.add(route);
  }

  read() {
    const [where, routes] = [this.place?.line, [...this.#routes]];
    return { count: this.#count, total: this.#total, longest: this.#longest, failed: this.failed, where, routes };
  }
}

const MOST_ROWS = 1000;

/** The row of a name. Names may be made from data, so those beyond a number have none. */
export function rowOf<R>(rows: Map<string, R>, name: string, make: new () => R): R | undefined {
  const known = rows.get(name);
  if (known || rows.size >= MOST_ROWS) return known;
  const row = new make();
  rows.set(name, row);
  return row;
}
