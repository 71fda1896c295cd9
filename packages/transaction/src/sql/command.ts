import { type Dialect, tokensOf } from './lexer.js';

const BEHIND_WITH = new Set(['select', 'insert', 'update', 'delete', 'replace', 'merge', 'values']);
const OTHER_NAMES: Readonly<Record<string, string>> = { VALUES: 'SELECT', TABLE: 'SELECT', REPLACE: 'INSERT' };
const COUNTED = new Set(['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'MERGE']);

/**
 * The command of a statement in the words of PostgreSQL, for a database that does not report it.
 *
 * @param sql - one statement
 * @param dialect - how the database reads it
 * @returns such as `SELECT` or `INSERT`, also behind a `WITH`; an empty text for an empty statement
 */
export function commandOf(sql: string, dialect: Dialect): string {
  let depth = 0;
  let isBehindWith = false;
  for (const { kind, text } of tokensOf(sql, dialect)) {
    if (text === '(') depth += 1;
    else if (text === ')') depth -= 1;
    if (kind !== 'word') continue;
    const word = text.toLowerCase();
    if (!isBehindWith && word !== 'with') return named(word);
    if (isBehindWith && depth === 0 && BEHIND_WITH.has(word)) return named(word);
    isBehindWith = true;
  }
  return isBehindWith ? 'WITH' : '';
}

function named(word: string): string {
  const command = word.toUpperCase();
  return OTHER_NAMES[command] ?? command;
}

/** True if PostgreSQL reports a number of rows for the command. */
export function countsRows(command: string): boolean {
  return COUNTED.has(command);
}
