import { idOf, MOST_ALIKE, type Sign, signsOf } from '../../src/signs.js';
import type { RequestDetails, RequestSummary, Step, StepKind, Trouble } from '../../src/wire.js';
import { duration, groupBy, lastOf, type Mark } from '../format.js';
import { outcomeLine, outcomeWord, routeText } from '../sentences.js';

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
  return runs.flatMap((run): Fold[] => (run.length >= MOST_ALIKE ? [run] : run.map((step): Fold => [step])));
}

function isAlike(one: Step, other: Step): boolean {
  return one.kind === 'statement' && other.kind === 'statement' && one.sql === other.sql && one.span === other.span;
}

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

/** Divides the time until the response; the rest is time that no recorded event accounts for. */
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

/** Statements with the same text. */
export interface StatementGroup {
  readonly sql: string;
  readonly steps: readonly Step[];
  readonly totalMs: number;
  readonly marks: readonly Mark[];
}

// A part is slow that takes a fifth of the request, and is more than noise.
const SLOW_PART = 0.2;
const SLOW_MS = 5;

/** The statements of a request by their text, those that took most time first. */
export function statementGroups({ steps, milliseconds, elapsed = 0 }: RequestDetails): StatementGroup[] {
  const slowMs = Math.max(SLOW_MS, (milliseconds ?? elapsed) * SLOW_PART);
  const groups = groupBy(
    steps.filter(({ kind }) => kind === 'statement'),
    ({ sql = '' }) => sql,
  );
  return Array.from(groups, ([sql, alike]) => {
    const totalMs = alike.reduce((sum, { took = 0 }) => sum + took, 0);
    return { sql, steps: alike, totalMs, marks: marksOfGroup(alike, slowMs) };
  }).toSorted((one, other) => other.totalMs - one.totalMs);
}

function marksOfGroup(steps: readonly Step[], slowMs: number): Mark[] {
  const outside = steps.filter((step) => step.outside).length;
  const failed = steps.filter(({ error }) => error !== undefined).length;
  const marks: (Mark | false)[] = [
    failed > 0 && { text: times('failed', failed), mood: 'bad' },
    steps.length >= MOST_ALIKE && { text: 'N+1', mood: 'warn', title: 'One statement may do' },
    steps.some(({ took = 0 }) => took >= slowMs) && { text: 'slow', mood: 'warn' },
    outside > 0 && { text: 'outside', mood: '', title: 'Sent outside of a transaction' },
  ];
  return marks.filter((mark) => mark !== false);
}

/** What went wrong in the request, and where, as the server groups it. */
export function problemsOf(request: RequestDetails, slowMs: number): Sign[] {
  const leaks = request.spans.flatMap(({ box, where, closed }): Sign[] => {
    if (!where) return [];
    const cause = `A ${lastOf(box)} scope ${closed === undefined ? 'is still open' : 'was closed long'} after the response. The line opened it`;
    return [{ kind: 'leak', cause, where: where[0] }];
  });
  return [...new Map([...signsOf(request, slowMs), ...leaks].map((sign) => [idOf(sign), sign])).values()];
}

type Cause = Pick<Sign, 'error' | 'kind' | 'sql' | 'where'> | Trouble;

/** The step of the request that a trouble is about. */
export function stepOf({ kind, where, sql, error }: Cause, { steps, spans }: RequestDetails): Step | undefined {
  const isAt = (step: Step): boolean => where !== undefined && (step.where === where || step.heldBy?.where === where);
  const opened = (step: Step): boolean =>
    step.kind === 'scope opened' && where !== undefined && spans[step.span ?? -1]?.where?.[0]?.includes(where) === true;
  const tests: readonly ((step: Step) => boolean)[] = [
    (step) => error !== undefined && step.error === error && isAt(step),
    (step) => error !== undefined && step.error === error,
    (step) => kind === 'leak' && opened(step),
    (step) => kind === 'aborted' && step.kind === 'aborted',
    (step) => isAt(step) && (sql === undefined || step.sql === sql),
    isAt,
    (step) => sql !== undefined && step.sql === sql,
  ];
  for (const test of tests) {
    const found = steps.find(test);
    if (found) return found;
  }
  return steps.toSorted((one, other) => (other.took ?? 0) - (one.took ?? 0))[0];
}

/** Waiting for less than this is normal. */
const LONG_WAIT_MS = 10;

/** The status of the response, or the state of a request without one. */
export function stateMark({ state, status = 0 }: RequestSummary): Mark {
  if (state === 'open') return { text: 'open', mood: '' };
  if (state === 'aborted') return { text: 'aborted', mood: 'bad' };
  return { text: String(status), mood: status >= 500 ? 'bad' : status >= 400 ? 'warn' : '' };
}

/** The marks of a request besides its status, the worst first. */
export function marksOf(request: RequestSummary, slowMs: number): Mark[] {
  const { leaks, failures, findings, failedAttempts, alike, waited, statements, milliseconds = 0 } = request;
  const outcome = outcomeWord(request);
  const title = outcomeLine(request);
  const marks: (Mark | false)[] = [
    leaks > 0 && { text: 'leak', mood: 'bad', title: 'A scope is still open' },
    failures > 0 && { text: times('failure', failures), mood: 'bad', title: 'A service could not be created' },
    findings > 0 && { text: times('check', findings), mood: 'bad', title: 'The transaction check has found something' },
    outcome !== undefined && { text: outcome, mood: moodOfOutcome(request), ...(title !== undefined && { title }) },
    failedAttempts > 0 &&
      request.outcome !== 'unknown' && {
        text: times('retried', failedAttempts),
        mood: 'warn',
        title: 'Transactions before the last one were not committed',
      },
    milliseconds >= slowMs && { text: 'slow', mood: 'warn', title: `It took longer than ${duration(slowMs)}` },
    alike >= MOST_ALIKE && { text: `N+1 ×${alike}`, mood: 'warn', title: `One statement was sent ${alike} times` },
    waited >= LONG_WAIT_MS && {
      text: `waited ${duration(waited)}`,
      mood: 'warn',
      title: `It waited ${duration(waited)} for a connection`,
    },
    statements > 0 && {
      text: `${statements} SQL`,
      mood: '',
      title: `${statements} ${statements === 1 ? 'statement' : 'statements'}`,
    },
  ];
  return marks.filter((mark) => mark !== false);
}

/** To roll back and respond with a status of 4xx is what the application has decided. */
function moodOfOutcome({ outcome, status = 0 }: RequestSummary): Mark['mood'] {
  if (outcome === 'committed') return 'good';
  return outcome === 'rolled back' && status >= 400 && status < 500 ? '' : 'bad';
}

function times(name: string, number: number): string {
  return number === 1 ? name : `${name} ×${number}`;
}

/** Quotes make one word of several, so they count for nothing in it. */
function plain(text: string): string {
  return text.replaceAll('"', ' ').replaceAll(/ +/g, ' ').trim().toLowerCase();
}

/** The filter that finds this text. */
export function phrase(text: string): string {
  return `"${plain(text)}"`;
}

/** Whether a request has all words of the filter. Statements and services count, too. */
export function matches(request: RequestSummary, filter: string, names: readonly string[], ref: string): boolean {
  const words = Array.from(filter.matchAll(/"([^"]*)"?|(\S+)/g), ([, quoted, word = '']) => plain(quoted ?? word));
  if (words.every((word) => word === '')) return true;
  const { method, route, status, state, requestId = '', texts, keys } = request;
  const marks = marksOf(request, Infinity).map(({ text }) => text);
  const known = [...texts, ...keys].map((index) => names[index] ?? '');
  const row = `${method} ${routeText(route)} ${status ?? ''}`;
  const all = [row, state, ref, requestId, ...marks, ...known].map(plain).join('\n');
  return words.every((word) => all.includes(word));
}
