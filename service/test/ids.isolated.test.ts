import { afterEach, expect, test, vi } from 'vitest';
import { newId, storedId } from '../src/ids.js';
import { isoNow } from '../src/logging/logger.js';

// In a process of its own: the time in ids, which these tests put forward, never goes back.

afterEach(() => void vi.useRealTimers());

const timeOf = (id: string): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

test('an id is a UUID of version 7 that contains its creation time', () => {
  const before = Date.now();
  const id = newId();
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(timeOf(id)).toBeGreaterThanOrEqual(before);
  expect(storedId(id)).toBe(id);
});

test('ids sort by creation, however many there are in a millisecond', () => {
  vi.useFakeTimers({ now: Date.now() + 60_000 });
  const ids = Array.from({ length: 10_000 }, newId);
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test('ids sort by creation also when the clock is set back', () => {
  vi.useFakeTimers({ now: Date.now() + 120_000 });
  const first = newId();
  vi.setSystemTime(Date.now() - 60_000);
  expect(newId() > first).toBe(true);
});

test.each([
  ['within a second', ['2026-01-31T12:00:00.000Z', '2026-01-31T12:00:00.007Z', '2026-01-31T12:00:00.999Z']],
  ['from one second to the next', ['2026-01-31T12:00:00.999Z', '2026-01-31T12:00:01.000Z']],
  ['from one year to the next', ['2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z']],
  ['when the clock is set back', ['2026-01-31T12:00:00.500Z', '2026-01-31T11:59:59.250Z', '2026-01-31T12:00:00.500Z']],
])('the time is formatted as Date formats it: %s', (_when, times) => {
  vi.useFakeTimers();
  for (const time of times) {
    vi.setSystemTime(new Date(time));
    expect(isoNow()).toBe(time);
  }
});
