import type { RequestDetails, Step, StepKind } from '../../src/wire.js';
import { MANY_ALIKE } from '../filter/filter.js';
import { duration, lastOf, nameOfFinding } from '../format.js';

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
  readonly longestMs: number;
  /** Sent so often that one statement should do: N+1. */
  readonly repeated: boolean;
  readonly slow: boolean;
  readonly outside: number;
  readonly failed: number;
}

// A part is slow that takes a fifth of the request, and is more than noise.
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

/** Ids in descending order of position: the newest request, which has the highest id, is at position 0. */
export class RequestOrder {
  /** Ascending, so that a new request is appended. */
  #ids: number[] = [];

  get length(): number {
    return this.#ids.length;
  }

  reset(ids: readonly number[]): void {
    this.#ids = ids.toSorted((one, other) => one - other);
  }

  add(id: number): void {
    const index = this.#indexFrom(id);
    if (this.#ids[index] !== id) this.#ids.splice(index, 0, id);
  }

  remove(id: number): void {
    const index = this.#indexFrom(id);
    if (this.#ids[index] === id) this.#ids.splice(index, 1);
  }

  has(id: number): boolean {
    return this.#ids[this.#indexFrom(id)] === id;
  }

  at(position: number): number | undefined {
    return this.#ids[this.#ids.length - 1 - position];
  }

  /** The position of the request, or of the next older one. */
  positionOf(id: number): number {
    const index = this.#indexFrom(id);
    return this.#ids.length - 1 - (this.#ids[index] === id ? index : index - 1);
  }

  /** How many are newer. */
  newerThan(id: number): number {
    return this.#ids.length - this.#indexFrom(id + 1);
  }

  /** The index of the first id that is not below this one. */
  #indexFrom(id: number): number {
    let low = 0;
    let high = this.#ids.length;
    // Almost always it is a new one.
    if (high > 0 && (this.#ids[high - 1] ?? 0) < id) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ids[middle] ?? 0) < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** A request in plain text, for an issue or a chat. */
export function requestText(request: RequestDetails, ref: string): string {
  const { method, route, state, status, milliseconds, elapsed = 0, outcome, steps, spans } = request;
  const took = milliseconds === undefined ? `in progress for ${duration(elapsed)}` : duration(milliseconds);
  const groups = statementGroups(request).map(
    ({ sql, steps: alike, totalMs }) => `  ${alike.length}x ${duration(totalMs)}  ${sql}`,
  );
  const lines = steps.map((step) => `  ${duration(step.at).padStart(9)}  ${stepText(step, request)}`);
  const leaks = spans.flatMap(({ box, where }) =>
    where ? [`A ${lastOf(box)} scope leaked, opened at ${where.join(', ')}`] : [],
  );
  return [
    `${method} ${route}`,
    [status ?? state, took, outcome, ref].filter(Boolean).join(', '),
    ...leaks,
    ...(groups.length > 0 ? ['', 'Statements', ...groups] : []),
    '',
    'Steps',
    ...lines,
    '',
  ].join('\n');
}

/** The command that sends such a request: values of the original are not known, so each parameter is to be filled in. */
export function curlSkeleton({ method, route }: RequestDetails, origin: string): string {
  const parts = ['curl'];
  if (method !== 'GET') parts.push('-X', method);
  if (['POST', 'PUT', 'PATCH'].includes(method)) parts.push("-H 'content-type: application/json'", "-d '{}'");
  return [...parts, quoted(origin + route)].join(' ');
}

/** In single quotes, which leave every character as it is. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function stepText(step: Step, { spans, status }: RequestDetails): string {
  const { kind, span, key, path = [], sql, error, found, where, took, outside, line } = step;
  const scope = span === undefined ? undefined : spans[span];
  const isScope = kind === 'scope opened' || kind === 'scope closed';
  const parts = [
    isScope ? `${lastOf(scope?.box ?? '')} ${kind}` : kind,
    outside && '(outside of a transaction)',
    kind === 'responded' && status !== undefined && String(status),
    line && `${line.source} ${line.level}: ${line.text}`,
    path.length > 1 ? path.join(' -> ') : key,
    found !== undefined && nameOfFinding(found),
    sql,
    error,
    took !== undefined && `[${duration(took)}]`,
    where !== undefined && `at ${where}`,
  ];
  return parts.filter(Boolean).join(' ');
}

/** One measure of two requests; undefined where one of them does not have it. */
export interface Pair {
  readonly name: string;
  readonly one: number | undefined;
  readonly other: number | undefined;
}

interface StatementPair {
  readonly sql: string;
  readonly count: Pair;
  readonly milliseconds: Pair;
}

export interface Compared {
  readonly durations: readonly Pair[];
  readonly statements: readonly StatementPair[];
  /** How often each service was created. */
  readonly services: readonly Pair[];
}

/** Two requests side by side: what differs most comes first. */
export function compareRequests(one: RequestDetails, other: RequestDetails): Compared {
  return {
    durations: durationsOf(one, other),
    statements: statementsOf(one, other),
    services: pairs(servicesOf(one), servicesOf(other)).toSorted(byDifference),
  };
}

/** How much more the other one has. */
export function differenceOf({ one = 0, other = 0 }: Pair): number {
  return other - one;
}

function durationsOf(one: RequestDetails, other: RequestDetails): Pair[] {
  const parts = (request: RequestDetails): Map<string, number> =>
    new Map(timeParts(request).map(({ name, milliseconds }) => [name, milliseconds]));
  return [{ name: 'duration', one: one.milliseconds, other: other.milliseconds }, ...pairs(parts(one), parts(other))];
}

function statementsOf(one: RequestDetails, other: RequestDetails): StatementPair[] {
  const groups = (request: RequestDetails, of: 'count' | 'milliseconds'): Map<string, number> =>
    new Map(statementGroups(request).map(({ sql, steps, totalMs }) => [sql, of === 'count' ? steps.length : totalMs]));
  const milliseconds = new Map(
    pairs(groups(one, 'milliseconds'), groups(other, 'milliseconds')).map((pair) => [pair.name, pair]),
  );
  return pairs(groups(one, 'count'), groups(other, 'count'))
    .map((count) => ({
      sql: count.name,
      count,
      milliseconds: milliseconds.get(count.name) ?? { name: count.name, one: undefined, other: undefined },
    }))
    .toSorted((a, b) => byDifference(a.milliseconds, b.milliseconds));
}

function servicesOf({ steps }: RequestDetails): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { kind, key } of steps)
    if (kind === 'created' && key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

function pairs(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): Pair[] {
  const names = new Set([...one.keys(), ...other.keys()]);
  return Array.from(names, (name) => ({ name, one: one.get(name), other: other.get(name) }));
}

function byDifference(one: Pair, other: Pair): number {
  return Math.abs(differenceOf(other)) - Math.abs(differenceOf(one));
}

/** Editors that open a file by an address. */
export const EDITORS: Readonly<Record<string, string>> = {
  vscode: 'VS Code',
  cursor: 'Cursor',
  zed: 'Zed',
  windsurf: 'Windsurf',
  idea: 'IntelliJ IDEA, WebStorm',
};

export interface EditorSetting {
  readonly editor: string;
  /** The folder in which the server was started, on the machine of the one who reads the page. */
  readonly folder: string;
}

/** `vscode://file/home/me/shop/src/orders.ts:42:7`; undefined without an editor, or for a path whose folder nobody has said. */
export function editorLink(where: string, { editor, folder }: EditorSetting): string | undefined {
  const [, path = '', line, column = '1'] = /([^\s()]+?):(\d+)(?::(\d+))?\)?$/.exec(where) ?? [];
  if (line === undefined || !Object.hasOwn(EDITORS, editor)) return undefined;
  const isAbsolute = /^(?:\/|[a-z]:[\\/])/i.test(path);
  if (!isAbsolute && folder === '') return undefined;
  const whole = (isAbsolute ? path : `${folder.replace(/[\\/]+$/, '')}/${path}`).replaceAll('\\', '/');
  const file = encodeURI(whole.replace(/^\//, '')).replaceAll('#', '%23').replaceAll('?', '%3F');
  if (editor === 'idea') return `idea://open?file=/${file}&line=${line}&column=${column}`;
  return `${editor}://file/${file}:${line}:${column}`;
}
