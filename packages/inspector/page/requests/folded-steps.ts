import type { Step } from '../../src/wire.js';
import { MANY_ALIKE } from '../filter/filter-fields.js';

/** Steps that follow one another: one, or the same statement many times. */
export type Fold = readonly [Step, ...Step[]];

/** Folds what an N+1 sends into one: sixty rows that are alike hide the others. */
export function foldSteps(steps: readonly Step[]): Fold[] {
  const runs: [Step, ...Step[]][] = [];
  for (const step of steps) {
    const run = runs.at(-1);
    if (run && isAlike(run[0], step)) run.push(step);
    else runs.push([step]);
  }
  return runs.flatMap((run): Fold[] => (run.length >= MANY_ALIKE ? [run] : run.map((step): Fold => [step])));
}

function isAlike(one: Step, other: Step): boolean {
  return one.kind === 'statement' && other.kind === 'statement' && one.sql === other.sql && one.span === other.span;
}
