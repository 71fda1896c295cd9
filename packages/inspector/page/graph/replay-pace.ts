import type { Step } from '../../src/wire.js';

/** How long each step is shown, in milliseconds. */
const SHOW_MS: Record<Step['kind'], number> = {
  arrived: 500,
  'scope opened': 450,
  created: 300,
  failed: 1000,
  connection: 250,
  'no connection': 900,
  begin: 450,
  statement: 420,
  commit: 850,
  rollback: 1000,
  'commit unknown': 1000,
  finding: 1000,
  line: 300,
  responded: 650,
  aborted: 1000,
  disposed: 160,
  'scope closed': 420,
};
/** All steps of a request together: long requests are shown faster. */
const LONGEST = 7000;

/** How long a step of a request with these steps is shown. */
export function shownFor({ kind }: Step, steps: readonly Step[]): number {
  return SHOW_MS[kind] * Math.min(1, LONGEST / total(steps));
}

/** How many times slower than the request its replay is. */
export function slowness(steps: readonly Step[], speed: number): number {
  const took = Math.max(steps.at(-1)?.at ?? 1, 0.1);
  return Math.max(1, Math.round(Math.min(LONGEST, total(steps)) / took / speed));
}

function total(steps: readonly Step[]): number {
  return steps.reduce((sum, { kind }) => sum + SHOW_MS[kind], 0);
}
