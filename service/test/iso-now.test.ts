import { afterEach, expect, test, vi } from 'vitest';
import { isoNow } from '../src/logging/logger.js';

afterEach(() => void vi.useRealTimers());

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
