import { afterEach, expect, test, vi } from 'vitest';
import { newId, storedId } from '../src/ids.js';

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
