import { describe, expect, it } from 'vitest';
import { barsWithin, TimelineHistory, timelineSummary } from '../../page/now/timeline-history.js';
import type { RequestSummary } from '../../src/wire.js';
import { summary } from '../support/requests.js';

const request = (id: number, arrived: number, milliseconds: number): RequestSummary =>
  summary({ id, arrived, milliseconds });
const going = (id: number, arrived: number): RequestSummary => {
  const { milliseconds: _, status: __, ...rest } = summary({ id, arrived });
  return { ...rest, state: 'open' };
};
const tracks = (history: TimelineHistory): number[][] =>
  [...history.bars].map(({ request: { id }, track }) => [id, track]);

describe('the timeline', () => {
  it('has requests that overlap in different tracks, and fills tracks that are free again', () => {
    const history = new TimelineHistory(1000);
    history.take([request(3, 30, 5), request(2, 5, 10), request(1, 0, 20)], undefined, 40);
    expect(tracks(history)).toEqual([
      [1, 0],
      [2, 1],
      [3, 0],
    ]);
  });

  it('keeps a request in its track when it is complete, and only then frees the track', () => {
    const history = new TimelineHistory(1000);
    history.take([going(1, 0)], undefined, 10);
    history.take([request(2, 20, 5)], undefined, 30);
    history.take([request(1, 0, 40)], undefined, 40);
    history.take([request(3, 50, 5)], undefined, 60);
    expect(tracks(history)).toEqual([
      [1, 0],
      [2, 1],
      [3, 0],
    ]);
  });

  it('forgets what is older than it shows, but nothing in progress', () => {
    const history = new TimelineHistory(100);
    history.take([going(1, 0), request(2, 0, 10)], { open: 4, idle: 4, waiting: 0 }, 10);
    history.take([], { open: 4, idle: 3, waiting: 0 }, 20);
    history.take([], { open: 4, idle: 2, waiting: 1 }, 200);
    expect(tracks(history)).toEqual([[1, 0]]);
    // The one before the window still holds at its beginning.
    expect(history.pool.map(({ inUse }) => inUse)).toEqual([1, 2]);
  });

  it('uses the clock of the server', () => {
    const history = new TimelineHistory(1000);
    history.take([request(1, 5000, 10)], undefined, 10);
    expect(history.serverTime(20)).toBe(5020);
  });

  it('is summed up in words', () => {
    const history = new TimelineHistory(1000);
    const failed = summary({ id: 1, arrived: 0, milliseconds: 20, status: 500, waited: 12 });
    history.take([failed, request(2, 5, 10)], { open: 4, idle: 0, waiting: 3 }, 30);
    const bars = barsWithin(history.bars, { from: 0, to: 30 });
    expect(timelineSummary(bars, history.pool, 30)).toBe(
      '2 requests in the last 30 seconds, 1 failed or aborted, at most 2 at once. 1 waited for a connection; at most 4 in use, and 3 waiting.',
    );
    expect(barsWithin(history.bars, { from: 18, to: 30 }).map(({ request: { id } }) => id)).toEqual([1]);
  });
});
