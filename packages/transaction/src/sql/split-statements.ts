import { type Dialect, EITHER, SQLITE, type Token, tokensOf } from './lexer.js';

/**
 * The statements of a script, for a migration: `query()` takes one statement at a time on both databases. Where PostgreSQL
 * and SQLite would split differently, it does not split, and `query()` refuses two statements in one.
 *
 * @param script - statements with semicolons between them
 * @returns the statements in their order, without the semicolons between them; what has only comments is left out
 *
 * @example
 * ```ts
 * import { type IConnection, splitStatements } from '@ambit/transaction';
 *
 * async function migrate(connection: IConnection, script: string): Promise<void> {
 *   for (const statement of splitStatements(script)) await connection.query(statement);
 * }
 * ```
 */
export function splitStatements(script: string): string[] {
  return split(script, EITHER);
}

/** True if SQLite sees more than one statement: its driver would run the first and ignore the others. */
export function isScriptInSqlite(sql: string): boolean {
  return split(sql, SQLITE).length > 1;
}

/** Replaces a word that begins and ends nothing. */
const IN_BRACKETS = '';

function split(script: string, dialect: Dialect): string[] {
  const statements: string[] = [];
  /** The start of the statement, without the space around it. */
  let start: number | undefined;
  let end = 0;
  let words: string[] = [];
  /** Parentheses and subscripts: no statement ends inside of them. */
  let open = 0;
  for (const token of tokensOf(script, dialect)) {
    const { kind, text } = token;
    if (kind === 'space') continue;
    if (text === ';' && open <= 0 && !isInsideBody(words)) {
      add();
      continue;
    }
    start ??= token.start;
    ({ end } = token);
    if (text === '(' || text === '[') open += 1;
    else if (text === ')' || text === ']') open -= 1;
    else if (text === ';' && open <= 0) words.push(text);
    // A quote or comment that is never closed stays part of its statement, for the database to refuse.
    else if (isWord(token) || isOpen(token)) words.push(open > 0 ? IN_BRACKETS : text.toLowerCase());
  }
  add();
  return statements;

  /** In SQLite the end of the text closes a comment, too. */
  function isOpen({ kind, closed }: Token): boolean {
    return !closed && !(kind === 'comment' && dialect === SQLITE);
  }

  function add(): void {
    if (words.length > 0) statements.push(script.slice(start, end));
    start = undefined;
    words = [];
    open = 0;
  }
}

const isWord = ({ kind }: Token): boolean => kind === 'word';

const CREATES = /^create (?:or replace )?(?:temp |temporary |constraint )?(trigger|function|procedure)\b/;

/**
 * The statements in the body of a trigger or a function end with semicolons too; the body ends with the semicolon after
 * its END, and that END is behind a semicolon. Any other END is that of a CASE, or a name: SQLite allows `begin` and `end`
 * as names.
 */
function isInsideBody(words: readonly string[]): boolean {
  const [, what] = CREATES.exec(words.slice(0, 5).join(' ')) ?? [];
  if (what === undefined) return false;
  const opens = (word: string, index: number): boolean =>
    word === 'begin' && (what === 'trigger' || words[index + 1] === 'atomic');
  return words.some(opens) && !(words.at(-1) === 'end' && BEFORE_THE_END.has(words.at(-2)));
}

/** The last of the statements, or none at all. */
const BEFORE_THE_END: ReadonlySet<string | undefined> = new Set([';', 'atomic']);
