import { type Dialect, POSTGRES, tokensOf } from './lexer.js';

const BEHIND_WITH = new Set(['select', 'insert', 'update', 'delete', 'replace', 'merge', 'values']);
const OTHER_NAMES: Readonly<Record<string, string>> = { VALUES: 'SELECT', TABLE: 'SELECT', REPLACE: 'INSERT' };
const COUNTED = new Set(['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'MERGE']);

/** The command of a statement in the words of PostgreSQL, for a database that does not report it. Empty for an empty statement. */
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

/** Whether PostgreSQL reports a number of rows for the command. */
export function countsRows(command: string): boolean {
  return COUNTED.has(command);
}

const WRITES = /\b(?:insert|update|delete|merge)\b/i;

/** Whether a WITH of the statement may write, for which PostgreSQL has no cursor. A column of such a name may look like it. */
export function mayWriteInWith(sql: string): boolean {
  if (!WRITES.test(sql)) return false;
  let before = '';
  for (const { kind, text } of tokensOf(sql, POSTGRES)) {
    if (kind === 'space' || kind === 'comment') continue;
    if (kind === 'word' && before === '(' && WRITES.test(text)) return true;
    before = text;
  }
  return false;
}
