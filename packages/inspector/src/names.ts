import type { Key, Container } from '@ambit/container';
import { sqlStateOf } from '@ambit/transaction';

const LONGEST = 200;

/** A key as text. */
export function label(key: Key): string {
  if (typeof key === 'function') return key.name || '(anonymous class)';
  return (typeof key === 'symbol' ? (key.description ?? 'a symbol') : key).slice(0, LONGEST);
}

/** The kind of a scope, from the tags of the outermost scope to its own: `application > request`. */
export function boxOf(lineage: readonly (readonly string[])[]): string {
  return lineage.map(nameOf).join(' > ');
}

export function lineageOf(scope: Container): (readonly string[])[] {
  return scope.parent ? [...lineageOf(scope.parent), scope.tags] : [scope.tags];
}

export function ms(milliseconds = 0): string {
  return milliseconds >= 1000 ? `${(milliseconds / 1000).toFixed(1)} s` : `${Math.round(milliseconds)} ms`;
}

export function nameOf(tags: readonly string[]): string {
  return tags.join(', ').slice(0, LONGEST) || 'no tags';
}

/** PostgreSQL's names of the codes that applications meet; pools translate those of other databases. */
const SQLSTATES: Readonly<Record<string, string>> = {
  '08006': 'connection lost',
  '22001': 'text too long',
  '23502': 'not null violation',
  '23503': 'foreign key violation',
  '23505': 'unique violation',
  '23514': 'check violation',
  '22P02': 'text of another type',
  '40001': 'serialization failure',
  '40P01': 'deadlock detected',
  '42000': 'syntax error or no rights',
  '42601': 'syntax error',
  '42703': 'undefined column',
  '42P01': 'undefined table',
  '53300': 'too many connections',
  '45000': 'signalled by a trigger or a procedure',
  '55P03': 'lock not available',
  '57014': 'canceled',
  '57P01': 'the server shuts down',
  P0001: 'raised by a function of the schema',
};

/** A class may be named by anything. */
const CLASS_NAME = /^[\p{L}\w$]{1,100}$/u;

/** The class of an error, its code or status, and its SQLSTATE. Its message may contain values, so it is not sent. */
export function errorName(error: unknown): string {
  if (!(error instanceof Error)) return 'something thrown';
  const { code, cause } = error as Error & { readonly code?: unknown };
  // It only says that the transaction is over: its cause says why.
  if (code === 'AMBIT_TX_FINISHED' && cause !== undefined) return errorName(cause);
  const state = sqlStateOf(error);
  // A deadlock of MariaDB has the SQLSTATE of every conflict.
  const isDeadlock = causesOf(error).some((one) => (one as { errno?: unknown }).errno === 1213);
  const meaning = SQLSTATES[isDeadlock ? '40P01' : (state ?? '')];
  // A time limit is an AbortSignal's: the class of its error is that of all errors of the web.
  const { name } = error.constructor === DOMException ? error : error.constructor;
  const { constraint, table } = violated(error);
  const what = [meaning, constraint && `of ${constraint}`, table && `on ${table}`];
  return [CLASS_NAME.test(name) ? name : 'Error', codeOf(error, state), state, ...what].filter(Boolean).join(' ');
}

const DEEPEST_CAUSE = 10;

/** The error and its causes, the deepest last. */
export function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let one = error; one instanceof Error && causes.length < DEEPEST_CAUSE; one = one.cause) causes.push(one);
  return causes;
}

/** Schemas are named by anything, but a value may be as well, so only of what a driver says of a violated constraint. */
const SCHEMA_NAME = /^[\p{L}\w$.-]{1,63}$/u;

/** The constraint and its table, where the driver says them. */
function violated(error: unknown): { readonly constraint?: string; readonly table?: string } {
  for (const one of causesOf(error)) {
    const { code, constraint, constraint_name, table, table_name } = one as Error & Partial<Record<string, unknown>>;
    if (typeof code !== 'string' || !/^23\w{3}$/.test(code)) continue;
    const isName = (name: unknown): name is string => typeof name === 'string' && SCHEMA_NAME.test(name);
    const [known, its] = [constraint ?? constraint_name, table ?? table_name];
    return { ...(isName(known) && { constraint: known }), ...(isName(its) && { table: its }) };
  }
  return {};
}

/** Its own code; where it has none, a status from 400 to 599. */
function codeOf(error: Error, state: string | undefined): string {
  const { code, status, statusCode } = error as Error & Partial<Record<'code' | 'status' | 'statusCode', unknown>>;
  if (code === state && state !== undefined) return '';
  if (typeof code === 'string' && /^[A-Z0-9_]{2,60}$/.test(code)) return code;
  const known = [statusCode, status].find((each) => typeof each === 'number' && each >= 400 && each < 600);
  return known === undefined ? '' : String(Number(known));
}
