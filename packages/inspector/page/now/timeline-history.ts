import type { Now, RequestSummary } from '../../src/wire.js';

export interface TimelineBar {
  readonly request: RequestSummary;
  /** Requests that overlap are in different tracks. */
  readonly track: number;
}

export interface PoolSample {
  /** Milliseconds since 1970, by the clock of the server. */
  readonly at: number;
  readonly inUse: number;
  readonly open: number;
  readonly waiting: number;
}

/** The last minute: requests in tracks, and the connection pool. */
export class TimelineHistory {
  readonly #keepMs: number;
  readonly #bars = new Map<number, TimelineBar>();
  /** When the last request of each track was complete. */
  readonly #tracks: { last: number; until: number }[] = [];
  #pool: PoolSample[] = [];
  #behind = Infinity;

  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  get bars(): Iterable<TimelineBar> {
    return this.#bars.values();
  }

  get pool(): readonly PoolSample[] {
    return this.#pool;
  }

  clear(): void {
    this.#bars.clear();
    this.#tracks.length = 0;
    this.#pool = [];
  }

  /** The time of the server, whose clock is not that of the page; no response comes from the future. */
  serverTime(now: number): number {
    return this.#behind === Infinity ? now : now - this.#behind;
  }

  take(requests: readonly RequestSummary[], pool: Now['pool'], now: number): void {
    for (const { arrived, milliseconds = 0 } of requests)
      this.#behind = Math.min(this.#behind, now - arrived - milliseconds);
    const time = this.serverTime(now);
    for (const request of requests.toSorted((one, other) => one.arrived - other.arrived)) this.#put(request, time);
    if (pool) this.#pool.push({ at: time, inUse: pool.open - pool.idle, open: pool.open, waiting: pool.waiting });
    this.#forget(time - this.#keepMs);
  }

  #put(request: RequestSummary, time: number): void {
    const known = this.#bars.get(request.id);
    const end = endOf(request);
    if (!known && end < time - this.#keepMs) return;
    const track = known?.track ?? this.#freeTrack(request.arrived);
    this.#bars.set(request.id, { request, track });
    const used = this.#tracks[track];
    if (!used || used.last === request.id || !known) this.#tracks[track] = { last: request.id, until: end };
  }

  #freeTrack(arrived: number): number {
    const free = this.#tracks.findIndex(({ until }) => until <= arrived);
    return free === -1 ? this.#tracks.length : free;
  }

  #forget(before: number): void {
    for (const [id, { request }] of this.#bars) {
      // They are almost in the order of their arrival, so the others are younger.
      if (request.arrived >= before) break;
      if (endOf(request) < before) this.#bars.delete(id);
    }
    const first = this.#pool.findIndex(({ at }) => at >= before);
    // The one before still holds when the window begins.
    if (first > 1) this.#pool.splice(0, first - 1);
  }
}

/** Of a request in progress nobody knows. */
function endOf({ arrived, milliseconds, state }: RequestSummary): number {
  return state === 'open' ? Infinity : arrived + (milliseconds ?? 0);
}

export interface TimeWindow {
  readonly from: number;
  readonly to: number;
}

/** Describes a timeline in words, for those who do not see it. */
export function timelineSummary(bars: readonly TimelineBar[], pool: readonly PoolSample[], seconds: number): string {
  const bad = bars.filter(({ request }) => request.state === 'aborted' || (request.status ?? 0) >= 500).length;
  const waited = bars.filter(({ request }) => request.waited >= 1).length;
  const inUse = most(pool.map((sample) => sample.inUse));
  const waiting = most(pool.map((sample) => sample.waiting));
  const requests = `${bars.length} ${bars.length === 1 ? 'request' : 'requests'} in the last ${seconds} seconds, ${bad} failed or aborted, at most ${tracksOf(bars)} at once`;
  if (pool.length === 0) return `${requests}.`;
  return `${requests}. ${waited} waited for a connection; at most ${inUse} in use, and ${waiting} waiting.`;
}

function tracksOf(bars: readonly TimelineBar[]): number {
  return most(bars.map(({ track }) => track + 1));
}

/** Those that are at least partly within the window. */
export function barsWithin(bars: Iterable<TimelineBar>, { from, to }: TimeWindow): TimelineBar[] {
  return [...bars].filter(({ request: { arrived, milliseconds = 0, state } }) => {
    const end = state === 'open' ? to : arrived + milliseconds;
    return arrived <= to && end >= from;
  });
}

function most(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => Math.max(one, other), 0);
}
