import type { RequestDetails, Step } from '../../src/wire.js';
import { MANY_ALIKE } from '../filter/filter-fields.js';

/** Statements with the same text. */
export interface StatementGroup {
  readonly sql: string;
  readonly steps: readonly Step[];
  readonly totalMs: number;
  readonly longestMs: number;
  /** Sent so often that one statement should do: N+1. */
  readonly repeated: boolean;
  readonly slow: boolean;
  readonly outside: number;
  readonly failed: number;
}

/** What takes a fifth of the request, and is more than noise. */
const SLOW_PART = 0.2;
const SLOW_MS = 5;

/** The statements of a request by their text, those that took most time first. */
export function statementGroups({ steps, milliseconds, elapsed = 0 }: RequestDetails): StatementGroup[] {
  const bySql = new Map<string, Step[]>();
  for (const step of steps) {
    if (step.kind !== 'statement' || step.sql === undefined) continue;
    const alike = bySql.get(step.sql);
    if (alike) alike.push(step);
    else bySql.set(step.sql, [step]);
  }
  const slowMs = Math.max(SLOW_MS, (milliseconds ?? elapsed) * SLOW_PART);
  return Array.from(bySql, ([sql, alike]) => groupOf(sql, alike, slowMs)).toSorted(
    (one, other) => other.totalMs - one.totalMs,
  );
}

function groupOf(sql: string, steps: readonly Step[], slowMs: number): StatementGroup {
  const durations = steps.map(({ took = 0 }) => took);
  const longestMs = Math.max(...durations);
  return {
    sql,
    steps,
    totalMs: durations.reduce((sum, took) => sum + took, 0),
    longestMs,
    repeated: steps.length >= MANY_ALIKE,
    slow: longestMs >= slowMs,
    outside: steps.filter(({ outside }) => outside).length,
    failed: steps.filter(({ error }) => error !== undefined).length,
  };
}
