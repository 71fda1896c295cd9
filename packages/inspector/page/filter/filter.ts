import type { RequestSummary } from '../../src/wire.js';

/** The facts that a filter reads besides the request. */
interface FilterFacts {
  readonly boot: string;
  readonly slowMs: number;
  /** The texts that requests name by index. */
  readonly names: readonly string[];
  readonly isPinned: (id: number) => boolean;
}

type Matches = (request: RequestSummary, facts: FilterFacts) => boolean;

interface Field {
  readonly read: (value: string) => Matches;
  readonly about: string;
  /** Values to suggest. */
  readonly values: readonly string[];
}

class ProblemInFilter extends Error {}

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

const FIELDS: Readonly<Record<string, Field>> = {
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
    read: (value) => byNumber(comparison(value, wholeNumber, 'statements:>20'), ({ statements }) => statements),
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
function matchesWord(word: string): Matches {
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
  return comparison(value, wholeNumber, 'status:500, status:4xx or status:>=400');
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

function wholeNumber(text: string): number | undefined {
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

function duration(text: string): number | undefined {
  const [, number, unit = 'ms'] = /^(\d+(?:\.\d+)?)(ms|s)?$/i.exec(text) ?? [];
  return number === undefined ? undefined : Number(number) * (unit.toLowerCase() === 's' ? 1000 : 1);
}

/** A filter that was read; what is wrong in it is left out, and said. */
export interface Filter {
  readonly matches: Matches;
  readonly problem?: string;
}

interface Term {
  readonly negated: boolean;
  /** In lower case; undefined for a word. */
  readonly field: string | undefined;
  readonly value: string;
  readonly quoted: boolean;
}

const TERM = /(-?)(?:([a-z]+):)?(?:"([^"]*)("?)|(\S*))/iy;

/**
 * Reads a filter: words and terms such as `status:5xx`, all of which a request must match, and `or` between groups of them.
 *
 * @example
 * ```ts
 * const { matches } = readFilter('status:5xx or duration:>1s -method:get');
 * ```
 */
export function readFilter(text: string): Filter {
  const problems: string[] = [];
  const read = (term: Term): Matches | undefined => {
    try {
      return readTerm(term);
    } catch (error) {
      if (!(error instanceof ProblemInFilter)) throw error;
      problems.push(error.message);
      return undefined;
    }
  };
  const groups = groupsOf(terms(text))
    .map((group) => group.map(read).filter((matches) => matches !== undefined))
    .filter((group) => group.length > 0);
  const matches: Matches = (request, facts) =>
    groups.length === 0 || groups.some((group) => group.every((term) => term(request, facts)));
  return { matches, ...(problems[0] !== undefined && { problem: problems[0] }) };
}

/** Whether the filter has this term by itself, such as `is:trouble`. */
export function hasTerm(text: string, term: string): boolean {
  return text.toLowerCase().split(/\s+/).includes(term);
}

export function withTerm(text: string, term: string): string {
  return `${term} ${text}`.trim();
}

export function withoutTerm(text: string, term: string): string {
  const parts = text.split(/\s+/);
  return parts.filter((part) => part.toLowerCase() !== term).join(' ');
}

function terms(text: string): Term[] {
  const found: Term[] = [];
  let at = 0;
  while (at < text.length) {
    if (/\s/.test(text[at] ?? '')) {
      at++;
      continue;
    }
    TERM.lastIndex = at;
    const [all = '', minus, field, quotedValue, , plain = ''] = TERM.exec(text) ?? [];
    at += Math.max(1, all.length);
    const term = {
      negated: minus === '-',
      field: field?.toLowerCase(),
      value: quotedValue ?? plain,
      quoted: quotedValue !== undefined,
    };
    // A minus by itself, and quotes around nothing, as while somebody types.
    if (term.field !== undefined || term.value !== '') found.push(term);
  }
  return found;
}

function groupsOf(all: readonly Term[]): Term[][] {
  const groups: Term[][] = [[]];
  for (const term of all) {
    const isOr = term.field === undefined && !term.quoted && !term.negated && term.value.toLowerCase() === 'or';
    if (isOr) groups.push([]);
    else groups.at(-1)?.push(term);
  }
  return groups;
}

/** Undefined for a term without a value, as while somebody types it. */
function readTerm({ field, value, negated }: Term): Matches | undefined {
  if (field !== undefined && /^[<>]?=?$/.test(value)) return undefined;
  const matches = field === undefined ? matchesWord(value) : fieldOf(field)(value);
  return negated ? (request, facts) => !matches(request, facts) : matches;
}

function fieldOf(name: string): (value: string) => Matches {
  const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
  if (!field) {
    throw new ProblemInFilter(
      `There is no “${name}:”. There are ${Object.keys(FIELDS).join(', ')}; quotes make it a word.`,
    );
  }
  return field.read;
}

/**
 * The term that finds this text, such as `route:"/api/users"`. A filter has no character that stands for a quote, so the text is searched
 * in parts.
 */
export function filterOf(field: string, text: string): string {
  const parts = text.split(/["\n\r]/).filter((part) => part.trim() !== '');
  return parts.map((part) => `${field}:"${part}"`).join(' ');
}

export interface Suggestion {
  /** The whole filter with it. */
  readonly text: string;
  readonly label: string;
  readonly about: string;
}

/** Values by which the page completes a term. */
export interface Known {
  readonly recent: readonly string[];
  readonly routes: readonly string[];
  readonly services: readonly string[];
}

const MOST = 8;

/** How the last term can go on, and for an empty filter the recent ones and the fields. */
export function suggestionsFor(text: string, known: Known): Suggestion[] {
  const [, before = '', minus = '', field, start = ''] =
    /^(.*?(?:^|\s))(-?)(?:([a-z]+):)?("[^"]*|[^\s"]*)$/i.exec(text) ?? [];
  if (field !== undefined)
    return valuesOf(field.toLowerCase(), start, known).map((value) => ({
      text: `${before}${minus}${field}:${value} `,
      label: `${minus}${field}:${value}`,
      about: '',
    }));
  const fields = Object.entries(FIELDS)
    .filter(([name]) => name.startsWith(start.toLowerCase()))
    .map(([name, { about }]) => ({ text: `${before}${minus}${name}:`, label: `${minus}${name}:`, about }));
  if (text.trim() !== '') return start === '' ? [] : fields.slice(0, MOST);
  return [...known.recent.map((recent) => ({ text: recent, label: recent, about: 'recent' })), ...fields];
}

function valuesOf(name: string, start: string, { routes, services }: Known): string[] {
  const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
  const wanted = start.replace('"', '').toLowerCase();
  const begins = (field?.values ?? []).filter((value) => value.replace('"', '').startsWith(wanted));
  const known = name === 'route' ? routes : name === 'service' ? services : [];
  const contains = known.filter((value) => value.toLowerCase().includes(wanted));
  return [...begins, ...contains].filter((value) => value !== start).slice(0, MOST);
}
