import type { PoolSample, TimelineBar } from './timeline-history.js';

export interface TimeWindow {
  readonly from: number;
  readonly to: number;
}

/** What a timeline shows, in words, for those who do not see it. */
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
