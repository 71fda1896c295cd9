import { createHash } from 'node:crypto';
import { withoutLiterals } from '../sql/without-literals.js';

/** A set. As a list it would be written in one line or in several, by the formatter of the project. */
export type Names = Readonly<Record<string, true>>;

/** All that one route did in a test run, without anything that depends on time, on ids or on the order of tests. */
export interface RouteRecord {
  /** The number of times that each statement ran in one request, at most. */
  readonly statements: Readonly<Record<string, number>>;
  /** The number of statements in one request, at most. */
  readonly most: number;
  /** The number of statements in one transaction, at most: its locks are held for as long. */
  readonly held: number;
  /** `orders > stock`: one transaction locked rows of the first table, then rows of the second. */
  readonly locks: Names;
  /** Findings of the check that do not depend on time: `http-request GET http://localhost/prices`. */
  readonly effects: Names;
}

/** The file that a pull request commits. */
export interface TransactionRecord {
  readonly version: 1;
  readonly routes: Readonly<Record<string, RouteRecord>>;
  /** The tables that a statement reads from the first row to the last; only where plans were taken. */
  readonly scans?: Readonly<Record<string, Names>>;
}

/** The lines of a route by statement, by order of locks and by effect. They move with every edit, so that they are not committed. */
export type Lines = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** One line of what a process of the test run writes. */
export type Recorded =
  | (RouteRecord & { readonly route: string; readonly at: Readonly<Record<string, readonly string[]>> })
  | { readonly sql: string; readonly scans: Names };

/** An ORM's text may be a page long. */
const LONGEST = 300;

/** One line without values, comments and numbers of parameters; a list is the same text however long it is. */
export function statementText(sql: string): string {
  const text = withoutLiterals(sql, { text: '?', number: '?' })
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/\$\d+/g, '?')
    .replaceAll(/(\bin )?\(\?(?:::[\w ]+)?(, ?\?(?:::[\w ]+)?)*\)/gi, (list, isIn?: string, more?: string) =>
      isIn || more ? `${isIn ?? ''}(?, ...)` : list,
    )
    .replaceAll(/(\([^()]*\))(?:, ?\1)+/g, '$1, ...');
  if (text.length <= LONGEST) return text;
  return `${text.slice(0, LONGEST)}... ${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}

const ID = /^(?:\d+|[\da-f]{8}-[\da-f-]{27}|[\da-f]{16,}|(?=.*\d)[\da-z_-]{20,})$/i;

/** `/orders/7` is `/orders/:id`, and a port that the system has chosen is none. */
export function withoutIds(text: string): string {
  return text
    .split('/')
    .map((part) => (ID.test(part) ? ':id' : part))
    .join('/')
    .replaceAll(/:(?:3[2-9]|[4-6]\d)\d{3}\b/g, '');
}

const TABLE = String.raw`((?:"[^"]+"|\`[^\`]+\`|[\w$]+)(?:\.(?:"[^"]+"|\`[^\`]+\`|[\w$]+))*)`;
const WRITTEN = new RegExp(
  String.raw`(?<!\b(?:for|do|key|then) )\b(?:update|delete from|merge into|lock table)(?: only)? ${TABLE}`,
  'gi',
);
const UPSERT = new RegExp(String.raw`\binsert into ${TABLE}.* on (?:conflict.* do|duplicate key) update\b`, 'gi');
const LOCKING = /\bfor (?:no key )?(?:update|share)\b(?: of ([\w", ]+))?(?!.*\b(?:skip locked|nowait)\b)/i;
const READ = new RegExp(String.raw`\b(?:from|join)(?: only)? ${TABLE}\b(?! ?\()(?: (?:as )?(\w+))?`, 'gi');
const NAMED_QUERY = /\b(\w+)(?: \([^()]*\))? as (?:not )?(?:materialized )?\(/gi;

/** The tables whose rows a statement locks, so that others wait: an INSERT alone locks only its own. */
export function lockedTables(sql: string): string[] {
  const text = withoutLiterals(sql, { text: '?', number: '?' }).replaceAll(/\s+/g, ' ');
  const written = [WRITTEN, UPSERT].flatMap((one) => Array.from(text.matchAll(one), ([, table = '']) => table));
  const locking = LOCKING.exec(text);
  const only = locking?.[1]?.split(/\W+/);
  const read = Array.from(locking ? text.matchAll(READ) : [], ([, table = '', alias = '']) => [table, alias] as const);
  const locked = read.filter(([table, alias]) => !only || only.includes(alias) || only.includes(nameOf(table)));
  const queries = Array.from(text.matchAll(NAMED_QUERY), ([, name = '']) => name.toLowerCase());
  const tables = new Set([...written, ...locked.map(([table]) => table)].map(nameOf));
  return [...tables].filter((table) => !queries.includes(table));
}

/** Without its schema, which tests may have of their own. */
function nameOf(table: string): string {
  return (table.split('.').at(-1) ?? '').replaceAll(/["`]/g, '').toLowerCase();
}

/** The record of a test run from what its processes have written, and the lines of its code. */
export function recordOf(recorded: Iterable<Recorded>, hasPlans: boolean): { record: TransactionRecord; lines: Lines } {
  const routes: Record<string, RouteRecord> = {};
  const scans: Record<string, Names> = {};
  const calls: Record<string, Record<string, readonly string[]>> = {};
  for (const one of recorded) {
    if ('sql' in one) {
      scans[one.sql] = sorted({ ...scans[one.sql], ...one.scans });
      continue;
    }
    const known = routes[one.route];
    const timesOf = (record: RouteRecord | undefined, what: string): number => record?.statements[what] ?? 0;
    routes[one.route] = known ? merged(known, one) : merged(one, one);
    const at = (calls[one.route] ??= {});
    for (const [what, places] of Object.entries(one.at)) {
      const more = timesOf(one, what) - timesOf(known, what);
      if (at[what] === undefined || more > 0 || (more === 0 && String(places) < String(at[what]))) at[what] = places;
    }
  }
  const lines = linesOf(calls);
  if (!hasPlans) return { record: { version: 1, routes: sorted(routes) }, lines };
  // Statements of the tests themselves are none of the application's.
  const texts = new Set(Object.values(routes).flatMap(({ statements }) => Object.keys(statements)));
  const own = Object.entries(scans).filter(([sql, tables]) => texts.has(sql) && Object.keys(tables).length > 0);
  return { record: { version: 1, routes: sorted(routes), scans: sorted(Object.fromEntries(own)) }, lines };
}

/** A line that runs more statements than these is of a function that runs any: its caller is what a reviewer needs. */
const MOST_STATEMENTS = 3;

function linesOf(calls: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>): Lines {
  const statements = new Map<string, Set<string>>();
  for (const at of Object.values(calls))
    for (const [what, places] of Object.entries(at))
      for (const line of places) statements.set(line, (statements.get(line) ?? new Set()).add(what));
  const ofOne = (line: string): boolean => (statements.get(line)?.size ?? 0) <= MOST_STATEMENTS;
  const nearest = (places: readonly string[]): string => places.find(ofOne) ?? places[0] ?? '';
  const lines = Object.entries(calls).map(([route, at]) => {
    const named = Object.entries(at).map(([what, places]) => [what, nearest(places)] as const);
    return [route, Object.fromEntries(named)] as const;
  });
  return Object.fromEntries(lines);
}

function merged(one: RouteRecord, other: RouteRecord): RouteRecord {
  const statements = { ...one.statements };
  for (const [sql, times] of Object.entries(other.statements)) statements[sql] = Math.max(statements[sql] ?? 0, times);
  return {
    most: Math.max(one.most, other.most),
    held: Math.max(one.held, other.held),
    statements: sorted(statements),
    locks: sorted({ ...one.locks, ...other.locks }),
    effects: sorted({ ...one.effects, ...other.effects }),
  };
}

function sorted<T>(object: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(object).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
