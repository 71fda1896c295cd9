import type { PoolNow, RouteStats } from '../src/wire.js';
import { type PoolPeak, routeText } from './sentences.js';
import type { Change } from './stream/store.js';

const LONGEST_MS = 60_000;

/** How much of the pool was used in the last minute. */
export class PoolHistory {
  #most: { readonly at: number; readonly inUse: number; readonly waiting: number }[] = [];
  #isFirst = true;

  /** Of the first message after the complete state nobody knows since when it counts. */
  take(pool: PoolNow | undefined, now: number, { complete }: Pick<Change, 'complete'>): void {
    if (complete) this.#isFirst = true;
    else if (this.#isFirst) this.#isFirst = false;
    else if (pool) this.#most.push({ at: now, inUse: pool.mostInUse, waiting: pool.mostWaiting });
    const from = this.#most.findIndex(({ at }) => at >= now - LONGEST_MS);
    this.#most = from === -1 ? [] : this.#most.slice(from);
  }

  clear(): void {
    this.#most = [];
  }

  peak(now: number): PoolPeak {
    return {
      inUse: Math.max(0, ...this.#most.map(({ inUse }) => inUse)),
      waiting: Math.max(0, ...this.#most.map(({ waiting }) => waiting)),
      seconds: Math.min(60, Math.round((now - (this.#most[0]?.at ?? now)) / 1000)),
    };
  }
}

/** A minute. */
export const SECONDS = 60;
const MOST_ROUTES = 6;

export interface Line {
  readonly name: string;
  /** Requests in each second, the newest last. */
  readonly rates: readonly number[];
}

/** How often each route was called in each of the last seconds. */
export class RateHistory {
  #before = new Map<string, number>();
  #rates = new Map<string, number[]>();

  /** Called once a second with what was counted since the recording began. */
  take(routes: readonly Pick<RouteStats, 'count' | 'method' | 'route'>[]): void {
    const counts = new Map(routes.map(({ method, route, count: all }) => [`${method} ${routeText(route)}`, all]));
    for (const [name, all] of counts) {
      const grown = all - (this.#before.get(name) ?? (this.#before.size === 0 ? all : 0));
      const known = this.#rates.get(name) ?? [];
      // A restart counts from zero again.
      this.#rates.set(name, [...known, Math.max(0, grown)].slice(-SECONDS));
    }
    for (const name of this.#rates.keys()) if (!counts.has(name)) this.#rates.delete(name);
    this.#before = counts;
  }

  /** The routes that were called most. */
  busiest(): Line[] {
    const sum = ({ rates }: Line): number => rates.reduce((all, rate) => all + rate, 0);
    const lines = Array.from(this.#rates, ([name, rates]) => ({ name, rates }));
    return lines
      .filter((line) => sum(line) > 0)
      .toSorted((one, other) => sum(other) - sum(one))
      .slice(0, MOST_ROUTES);
  }
}
