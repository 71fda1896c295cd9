import type { RequestDetails, Step, StepKind } from '../../src/wire.js';

export interface TimePart {
  readonly name: string;
  readonly kind: 'waiting' | 'statements' | 'transactions' | 'creations' | 'rest';
  readonly milliseconds: number;
}

interface Interval {
  readonly from: number;
  readonly to: number;
}

/** In this order: what happens at once is counted for the first of them. */
const PARTS: readonly (Omit<TimePart, 'milliseconds'> & { readonly steps: readonly StepKind[] })[] = [
  { name: 'waiting for a connection', kind: 'waiting', steps: ['connection', 'no connection'] },
  { name: 'statements', kind: 'statements', steps: ['statement'] },
  {
    name: 'BEGIN, COMMIT, ROLLBACK',
    kind: 'transactions',
    steps: ['begin', 'commit', 'rollback', 'commit unknown'],
  },
  { name: 'creating services', kind: 'creations', steps: ['created'] },
];

/** What the time until the response was spent on; the rest is what nothing that is recorded accounts for. */
export function timeParts({ steps, milliseconds, elapsed, dropped }: RequestDetails): TimePart[] {
  const all = milliseconds ?? elapsed ?? 0;
  // Where steps are missing, their time would look like time of the handler.
  if (all === 0 || dropped > 0) return [];
  const intervals: Interval[] = [];
  let before = 0;
  const parts = PARTS.map(({ name, kind, steps: kinds }) => {
    intervals.push(...steps.filter((step) => kinds.includes(step.kind)).map((step) => intervalOf(step, all)));
    const covered = lengthOf(intervals);
    const part: TimePart = { name, kind, milliseconds: covered - before };
    before = covered;
    return part;
  });
  return [...parts, { name: 'not accounted for', kind: 'rest' as const, milliseconds: Math.max(0, all - before) }];
}

function intervalOf({ at, took = 0 }: Step, end: number): Interval {
  return { from: Math.min(at, end), to: Math.min(at + took, end) };
}

/** Of all of them together, counting what overlaps once. */
function lengthOf(intervals: readonly Interval[]): number {
  let sum = 0;
  let reached = 0;
  for (const { from, to } of intervals.toSorted((one, other) => one.from - other.from)) {
    sum += Math.max(0, to - Math.max(from, reached));
    reached = Math.max(reached, to);
  }
  return sum;
}
