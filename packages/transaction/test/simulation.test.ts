import { afterAll, beforeAll, expect, test } from 'vitest';
import { simulate } from './support/simulation.js';

/** `SEED=123` plays that one run again; `SEEDS=100000` plays more of them, as `npm run check` does. */
const { SEED, SEEDS = '8000' } = process.env;
/** More of them side by side only make more work for the garbage collector. */
const SEEDS_PER_TURN = 10;

const unhandled: unknown[] = [];
const collect = (reason: unknown): void => void unhandled.push(reason);
const { stackTraceLimit } = Error;
beforeAll(() => {
  process.on('unhandledRejection', collect);
  // Most of these runs fail, and their stacks would take a third of the time.
  Error.stackTraceLimit = SEED === undefined ? 0 : 30;
});
afterAll(() => {
  process.off('unhandledRejection', collect);
  Error.stackTraceLimit = stackTraceLimit;
});

test.runIf(SEED)(`seed ${SEED} keeps every guarantee`, async () => {
  expect(await simulate(Number(SEED))).toEqual([]);
});

test.skipIf(SEED)(`${SEEDS} random transactions keep every guarantee`, { timeout: 600_000 }, async () => {
  const total = Number(SEEDS);
  for (let first = 1; first <= total; first += SEEDS_PER_TURN) {
    const seeds = Array.from({ length: Math.min(SEEDS_PER_TURN, total - first + 1) }, (_, index) => first + index);
    const results = await Promise.all(seeds.map((seed) => simulate(seed)));
    results.forEach((broken, index) => {
      expect(broken, `replay with SEED=${seeds[index]}`).toEqual([]);
    });
    expect(unhandled, `somewhere in seeds ${first} to ${seeds.at(-1)}`).toEqual([]);
  }
});
