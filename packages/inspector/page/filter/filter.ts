import { FIELDS, type Matches, matchesWord, ProblemInFilter } from './filter-fields.js';

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
