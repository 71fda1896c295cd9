import { endOfFlatComment, endOfNestedComment } from './comments.js';
import { QUOTED_IN_POSTGRES, QUOTED_IN_SQLITE, WORD } from './sql-text.js';

/** A quote that nothing closes goes on to the end; it comes after those that are closed. */
const markOr = (quote: string): string => String.raw`(?<mark>/\*|[()[\];]|${WORD}|(?:${quote})[^]*)`;

/** What has no mark is quoted or a comment, and passed over whole. */
const PARTS = new RegExp(
  [
    String.raw`[eE]'(?:[^'\\]|\\[^]|'')*'`,
    ...QUOTED_IN_POSTGRES,
    // PostgreSQL's subscripts, where SQLite would have whitespace before a name.
    String.raw`(?<subscript>(?=\[)(?<=[\w$\u0080-\uffff\])"]|\b(?:array|ARRAY)\s+)\[)`,
    markOr(String.raw`['"]|\$(?:[A-Za-z_]\w*)?\$`),
  ].join('|'),
  'g',
);
const PARTS_IN_SQLITE = new RegExp([...QUOTED_IN_SQLITE, markOr(`['"]`)].join('|'), 'g');

interface Mark {
  readonly text: string;
  readonly index: number;
}

/**
 * The statements of a script, for a migration: `query()` takes one statement at a time on both databases. Where PostgreSQL
 * and SQLite would cut differently it rather does not, and `query()` refuses two statements in one.
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
  return split(script, PARTS);
}

/** Whether there is more than one statement, to SQLite alone, whose driver would forget all but the first. */
export function isScriptInSqlite(sql: string): boolean {
  return split(sql, PARTS_IN_SQLITE).length > 1;
}

/** In the place of a word that begins and ends nothing. */
const IN_BRACKETS = '';

function split(script: string, parts: RegExp): string[] {
  const statements: string[] = [];
  let start = 0;
  let words: string[] = [];
  /** Parentheses and subscripts: no statement ends inside of them. */
  let open = 0;
  for (const { text, index } of marksOf(script, parts)) {
    if (text === '(' || text === '[') open += 1;
    else if (text === ')' || text === ']') open -= 1;
    else if (text !== ';') words.push(open > 0 ? IN_BRACKETS : text.toLowerCase());
    else if (open > 0) continue;
    else if (insideBody(words)) words.push(text);
    else {
      add(script.slice(start, index));
      start = index + 1;
    }
  }
  add(script.slice(start));
  return statements;

  function add(statement: string): void {
    if (words.length > 0) statements.push(statement.trim());
    words = [];
    open = 0;
  }
}

/** Words, brackets, semicolons, the start of a comment that does not end, and a quote that does not. */
function* marksOf(script: string, pattern: RegExp): Generator<Mark> {
  const parts = new RegExp(pattern);
  let subscripts = 0;
  let endOfComment = endOfNestedComment;
  for (let part = parts.exec(script); part; part = parts.exec(script)) {
    const { index } = part;
    const { subscript, mark } = part.groups ?? {};
    const text = subscript ?? mark;
    if (text === '/*') {
      // Where comments do not end as PostgreSQL reads them, they are written for SQLite.
      if (endOfComment(script, index) === undefined) endOfComment = endOfFlatComment;
      const end = endOfComment(script, index);
      if (end === undefined) {
        yield { text, index };
        return;
      }
      parts.lastIndex = end;
    } else if (mark === '[' && subscripts === 0) {
      parts.lastIndex = endOfName(script, index);
    } else if (text !== undefined) {
      if (text === '[') subscripts += 1;
      if (text === ']' && subscripts > 0) subscripts -= 1;
      yield { text, index };
    }
  }
}

/** SQLite quotes names in brackets, too. */
function endOfName(script: string, start: number): number {
  const index = script.indexOf(']', start);
  return index === -1 ? start + 1 : index + 1;
}

const CREATES = /^create (?:or replace )?(?:temp |temporary |constraint )?(trigger|function|procedure)\b/;

/**
 * The statements in the body of a trigger or a function end with semicolons too; only the one after its END ends it. That
 * END stands behind a semicolon. Any other is that of a CASE, or a name, which to SQLite `begin` and `end` may be.
 */
function insideBody(words: readonly string[]): boolean {
  const [, what] = CREATES.exec(words.slice(0, 5).join(' ')) ?? [];
  if (what === undefined) return false;
  const opens = (word: string, index: number): boolean =>
    word === 'begin' && (what === 'trigger' || words[index + 1] === 'atomic');
  return words.some(opens) && !(words.at(-1) === 'end' && BEFORE_THE_END.has(words.at(-2)));
}

/** The last of the statements, or none at all. */
const BEFORE_THE_END: ReadonlySet<string | undefined> = new Set([';', 'atomic']);
