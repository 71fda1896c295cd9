import { afterAll, beforeAll, expect, test } from 'vitest';
import { simulate } from './support/simulation.js';

/** `SEED=123` plays that one run again; `SEEDS=100000` plays more of them, from `FIRST_SEED` on. */
const { SEED, SEEDS = '2000', FIRST_SEED = '1' } = process.env;
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
  const end = Number(FIRST_SEED) + Number(SEEDS);
  for (let first = Number(FIRST_SEED); first < end; first += SEEDS_PER_TURN) {
    const seeds = Array.from({ length: Math.min(SEEDS_PER_TURN, end - first) }, (_, index) => first + index);
    const results = await Promise.all(seeds.map((seed) => simulate(seed)));
    results.forEach((broken, index) => {
      expect(broken, `replay with SEED=${seeds[index]}`).toEqual([]);
    });
    expect(unhandled, `somewhere in seeds ${first} to ${seeds.at(-1)}`).toEqual([]);
  }
});
