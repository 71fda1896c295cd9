import { TransactionError } from '../errors.js';
import { type Dialect, EITHER, POSTGRES, SQLITE, tokensOf } from './lexer.js';

const CONTROL = /^(?:begin|start transaction|commit|end|abort|rollback|prepare transaction)\b/;
const SAVEPOINT = /^(?:savepoint|release)\b/;
const ROLLBACK_TO = /^rollback (?:(?:work|transaction) )?to\b/;
/** So many words distinguish all of these. */
const ENOUGH_WORDS = 4;

/** Both databases read what begins with one of these alike, and it controls no transaction. */
const PLAIN = /^\s*(?:select|insert|update|delete|with|values)\b/i;

/** True if it is a SELECT, INSERT or the like, which most statements are. */
export function isPlain(sql: string): boolean {
  return PLAIN.test(sql);
}

/**
 * Tells if the statement would begin or complete a transaction that somebody else controls. Both PostgreSQL and SQLite are asked
 * how they read it.
 *
 * @param sql - one statement
 * @returns false for a savepoint, and for `ROLLBACK TO`
 */
export function isTransactionControl(sql: string): boolean {
  return !isPlain(sql) && readings(sql).some((statement) => CONTROL.test(statement) && !ROLLBACK_TO.test(statement));
}

export function refuseTransactionControl(sql: string): void {
  if (typeof sql !== 'string') {
    const what = `query() takes the statement as a string, not a value of type ${sql === null ? 'null' : typeof sql}`;
    throw new TransactionError('AMBIT_TX_PARAMETER', what, { sqlState: '42601' });
  }
  if (!isTransactionControl(sql)) return;
  const what = 'query() was called with a statement that begins, commits or rolls back a transaction';
  throw new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what);
}

/** True if the statement sets or releases a savepoint, which needs an open transaction. */
export function isSavepoint(sql: string): boolean {
  return !isPlain(sql) && readings(sql).some((statement) => SAVEPOINT.test(statement));
}

/** `ROLLBACK TO SAVEPOINT` undoes a failed statement and does not complete the transaction. */
export function isRollbackTo(sql: string): boolean {
  return !isPlain(sql) && readings(sql).every((statement) => ROLLBACK_TO.test(statement));
}

/** How the statement begins as either database reads it: in PostgreSQL comments nest, in SQLite they do not. */
function readings(sql: string): string[] {
  return [POSTGRES, SQLITE].map((dialect) => wordsAtStart(sql, dialect));
}

/**
 * How a statement begins, in lower case and without comments.
 *
 * @param sql - one statement
 * @param dialect - how the database reads it
 * @returns its first words, four at most; an empty text for SELECT, INSERT and the like
 */
export function firstWords(sql: string, dialect: Dialect): string {
  return isPlain(sql) ? '' : wordsAtStart(sql, dialect);
}

/** Without comments, and without the semicolons of empty statements before. */
function wordsAtStart(sql: string, dialect: Dialect): string {
  const words: string[] = [];
  for (const { kind, text } of tokensOf(sql, dialect)) {
    if (kind === 'space' || kind === 'comment') continue;
    if (text === ';' && words.length === 0) continue;
    if (kind !== 'word') break;
    words.push(text.toLowerCase());
    if (words.length === ENOUGH_WORDS) break;
  }
  return words.join(' ');
}

/** The action of a statement on a savepoint. */
export interface SavepointStatement {
  readonly does: 'set' | 'release' | 'undo';
  /** In lower case. Two names that differ in nothing else are taken for one, as SQLite does. */
  readonly name: string;
}

const NOISE: ReadonlySet<string> = new Set(['savepoint', 'to', 'work', 'transaction']);
/** `ROLLBACK TRANSACTION TO SAVEPOINT name`. */
const MOST_WORDS = 5;

/** Reads `SAVEPOINT`, `RELEASE` and `ROLLBACK TO`; undefined for any other statement. */
export function savepointIn(sql: string): SavepointStatement | undefined {
  if (isPlain(sql)) return undefined;
  const [verb = '', ...rest] = wordsIn(sql);
  const isUndo = verb === 'rollback' && rest.includes('to');
  if (verb !== 'savepoint' && verb !== 'release' && !isUndo) return undefined;
  const name = rest.find((word) => !NOISE.has(word)) ?? rest.at(-1) ?? '';
  return { does: isUndo ? 'undo' : verb === 'release' ? 'release' : 'set', name };
}

/** Removes single quotes, too: SQLite takes `'a'` for a name. */
function unquoted(text: string): string {
  const quote = text.at(-1) ?? '';
  return text.slice(1, -1).replaceAll(quote + quote, quote);
}

function wordsIn(sql: string): string[] {
  const words: string[] = [];
  for (const { kind, text } of tokensOf(sql, EITHER)) {
    if (kind === 'word') words.push(text.toLowerCase());
    else if (kind === 'name' || kind === 'text') words.push(unquoted(text).toLowerCase());
    if (words.length === MOST_WORDS) break;
  }
  return words;
}
