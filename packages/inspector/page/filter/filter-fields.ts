import type { RequestSummary } from '../../src/wire.js';

/** What a filter needs to know besides the request. */
interface FilterFacts {
  readonly boot: string;
  readonly slowMs: number;
  /** The texts that requests name by index. */
  readonly names: readonly string[];
  readonly isPinned: (id: number) => boolean;
}

export type Matches = (request: RequestSummary, facts: FilterFacts) => boolean;

export interface Field {
  readonly read: (value: string) => Matches;
  readonly about: string;
  /** Values to suggest. */
  readonly values: readonly string[];
}

export class ProblemInFilter extends Error {}

/** From so many equal statements on, a request is marked as N+1. */
export const MANY_ALIKE = 5;

const STATES: Readonly<Record<string, Matches>> = {
  trouble: ({ trouble }) => trouble,
  failed: ({ status = 0, failures }) => status >= 500 || failures > 0,
  slow: ({ milliseconds = 0 }, { slowMs }) => milliseconds >= slowMs,
  aborted: ({ state }) => state === 'aborted',
  open: ({ state }) => state === 'open',
  leak: ({ leaks }) => leaks > 0,
  check: ({ findings }) => findings > 0,
  'n+1': ({ alike }) => alike >= MANY_ALIKE,
  waited: ({ waited }) => waited > 0,
  pinned: ({ id }, { isPinned }) => isPinned(id),
};

const OUTCOMES = ['committed', 'rolled back', 'refused', 'unknown'];

export const FIELDS: Readonly<Record<string, Field>> = {
  is: { read: readState, about: 'a state or a problem', values: Object.keys(STATES) },
  status: {
    read: (value) => byNumber(statusFits(value), ({ status: number }) => number),
    about: '500, 4xx, >=400',
    values: ['5xx', '4xx', '>=400', '2xx'],
  },
  duration: {
    read: (value) =>
      byNumber(comparison(value, duration, 'duration:>100, or duration:>1s'), ({ milliseconds }) => milliseconds),
    about: 'in milliseconds, or with a unit: >1s',
    values: ['>100', '>1s'],
  },
  statements: {
    read: (value) => byNumber(comparison(value, plain, 'statements:>20'), ({ statements }) => statements),
    about: 'how many statements it sent',
    values: ['>20', '0'],
  },
  waited: {
    read: (value) => byNumber(comparison(value, duration, 'waited:>100'), ({ waited }) => waited),
    about: 'how long it waited for connections',
    values: ['>0', '>100'],
  },
  method: {
    read: (value) => (request) => request.method.toLowerCase() === value.toLowerCase(),
    about: 'get, post, …',
    values: ['get', 'post', 'put', 'patch', 'delete'],
  },
  route: { read: (value) => byText(value, ({ route }) => route), about: 'a part of the route', values: [] },
  outcome: {
    read: (value) => byText(value, ({ outcome = '' }) => outcome),
    about: 'of its transactions',
    values: OUTCOMES.map((name) => (name.includes(' ') ? `"${name}"` : name)),
  },
  service: { read: (value) => byName(value, ({ keys }) => keys), about: 'the key of a service it created', values: [] },
  statement: {
    read: (value) => byName(value, ({ texts }) => texts),
    about: 'a part of a statement',
    values: ['insert', 'update', 'delete', 'select'],
  },
};

/** A word looks at what the row says, and at the ids of the request. */
export function matchesWord(word: string): Matches {
  const wanted = word.toLowerCase();
  return (request, { boot }) => {
    const { id, requestId, method, route, state, status: code, outcome, leaks, findings } = request;
    if (requestId?.toLowerCase() === wanted || `${boot}-${id}` === wanted) return true;
    const marks = [leaks > 0 ? 'leak' : '', findings > 0 ? 'check' : ''];
    return [method, route, state, code, outcome, ...marks].join(' ').toLowerCase().includes(wanted);
  };
}

function readState(value: string): Matches {
  const name = value.toLowerCase();
  const found = Object.hasOwn(STATES, name) ? STATES[name] : undefined;
  if (!found) throw new ProblemInFilter(`There is no “is:${value}”. There are ${Object.keys(STATES).join(', ')}.`);
  return found;
}

function byText(value: string, textOf: (request: RequestSummary) => string): Matches {
  const wanted = value.toLowerCase();
  return (request) => textOf(request).toLowerCase().includes(wanted);
}

/** Each name is compared once, however many requests have it. */
function byName(value: string, indexesOf: (request: RequestSummary) => readonly number[]): Matches {
  const wanted = value.toLowerCase();
  const known = new Map<string, boolean>();
  const fits = (name: string): boolean => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const now = name.toLowerCase().includes(wanted);
    known.set(name, now);
    return now;
  };
  return (request, { names }) => indexesOf(request).some((index) => fits(names[index] ?? ''));
}

function byNumber(
  fits: (number: number) => boolean,
  numberOf: (request: RequestSummary) => number | undefined,
): Matches {
  return (request) => {
    const number = numberOf(request);
    return number !== undefined && fits(number);
  };
}

function statusFits(value: string): (status: number) => boolean {
  const kind = /^([1-5])xx$/i.exec(value)?.[1];
  if (kind !== undefined) return (code) => Math.floor(code / 100) === Number(kind);
  return comparison(value, plain, 'status:500, status:4xx or status:>=400');
}

function comparison(
  value: string,
  read: (text: string) => number | undefined,
  example: string,
): (number: number) => boolean {
  const [, sign = '', rest = ''] = /^(>=|<=|>|<|=)?(.*)$/.exec(value) ?? [];
  const limit = read(rest);
  if (limit === undefined) throw new ProblemInFilter(`“${value}” is not a number. Write ${example}.`);
  if (sign === '>') return (number) => number > limit;
  if (sign === '>=') return (number) => number >= limit;
  if (sign === '<') return (number) => number < limit;
  if (sign === '<=') return (number) => number <= limit;
  return (number) => number === limit;
}

function plain(text: string): number | undefined {
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

function duration(text: string): number | undefined {
  const [, number, unit = 'ms'] = /^(\d+(?:\.\d+)?)(ms|s)?$/i.exec(text) ?? [];
  return number === undefined ? undefined : Number(number) * (unit.toLowerCase() === 's' ? 1000 : 1);
}
