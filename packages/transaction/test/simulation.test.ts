import { Simulation, runsOr } from '@ambit/test-kit';
import { expect, test } from 'vitest';
import { simulate } from './support/simulation.js';

const RUNS = runsOr(2000);

test(`${RUNS} random transactions keep every guarantee`, { timeout: 600_000 }, async () => {
  expect(await new Simulation(simulate).report(RUNS)).toBe('');
});
