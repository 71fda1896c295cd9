/**
 * SQL as PostgreSQL reads it, which is mostly as SQLite does. What is never closed goes on to the end. Expressions find
 * where a part begins and loops where it ends, so that no text takes long, or more stack than there is.
 *
 * `@ambit/opentelemetry` and `@ambit/inspector` each have this file, since neither may use the other: a test of the
 * former compares them.
 */
const TEXT = String.raw`(?:[bBeEnNxX]|[uU]&)?'`;
const DOLLARS = String.raw`\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$`;
const NUMBER = String.raw`\.?\d`;
const COMMENT = String.raw`--[^\r\n]*|/\*`;
/** Names and parameters: `column2`, `$1`, `?1`. */
const KEPT = ['"[^"]*"', '`[^`]*`', String.raw`[$?]\d+`, String.raw`[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*`].join(
  '|',
);
const PARTS = new RegExp([TEXT, DOLLARS, NUMBER, COMMENT, `(${KEPT})`].join('|'), 'g');

interface Placeholders {
  readonly text: string;
  readonly number: string;
}

/** The statement with a placeholder for every literal, and without comments. */
export function withoutLiterals(sql: string, placeholders: Placeholders): string {
  let shown = '';
  let at = 0;
  PARTS.lastIndex = 0;
  for (let part = PARTS.exec(sql); part; part = PARTS.exec(sql)) {
    const [opening, kept] = part;
    if (kept !== undefined) continue;
    shown += sql.slice(at, part.index) + insteadOf(opening, placeholders);
    PARTS.lastIndex = at = endOf(opening, sql, PARTS.lastIndex);
  }
  return shown + sql.slice(at);
}

function insteadOf(opening: string, { text, number }: Placeholders): string {
  if (isComment(opening)) return ' ';
  return isText(opening) ? text : number;
}

function endOf(opening: string, sql: string, start: number): number {
  if (opening === '/*') return endOfComment(sql, start);
  if (isComment(opening)) return start;
  if (!isText(opening)) return endOfRun(sql, start, DIGITS);
  if (opening.startsWith('$')) return endOfDollars(opening, sql, start);
  return /^e/i.test(opening) ? endOfEscaping(sql, start) : endOfText(sql, start, PLAIN_MARK);
}

const isComment = (opening: string): boolean => /^[-/]/.test(opening);
const isText = (opening: string): boolean => /['$]$/.test(opening);

function endOfDollars(opening: string, sql: string, start: number): number {
  const closing = sql.indexOf(opening, start);
  return closing === -1 ? sql.length : closing + opening.length;
}

const PLAIN_MARK = /''?/g;
const ESCAPING_MARK = /\\[^]|''?/g;

/** A single quote is the end; one that is doubled or escaped is not. */
function endOfText(sql: string, start: number, marks: RegExp): number {
  marks.lastIndex = start;
  for (let mark = marks.exec(sql); mark; mark = marks.exec(sql)) if (mark[0] === "'") return marks.lastIndex;
  return sql.length;
}

/** What may be between the two lines of a string. */
const GAP = /\s+|--[^\r\n]*/y;

/** Such a string goes on in the next line, and its backslashes go on to escape. */
function endOfEscaping(sql: string, start: number): number {
  for (let at = start; ;) {
    const end = endOfText(sql, at, ESCAPING_MARK);
    const gap = endOfRun(sql, end, GAP);
    if (sql[gap] !== "'" || !/[\r\n]/.test(sql.slice(end, gap))) return end;
    at = gap + 1;
  }
}

/** Also of what only begins like a number; but an E before a quote begins a string. */
const DIGITS = /[\d_.]+|[eE][+-](?=\d)|(?![eE]')\w/y;

/** The end of as many such pieces as there are. */
function endOfRun(sql: string, start: number, piece: RegExp): number {
  let end = start;
  for (piece.lastIndex = start; piece.test(sql);) end = piece.lastIndex;
  return end;
}

const COMMENT_MARK = /\/\*|\*\//g;

/** Comments hold comments in PostgreSQL. In SQLite they do not, so there it may hide more than the comment. */
function endOfComment(sql: string, start: number): number {
  let depth = 1;
  COMMENT_MARK.lastIndex = start;
  for (let mark = COMMENT_MARK.exec(sql); mark; mark = COMMENT_MARK.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return COMMENT_MARK.lastIndex;
  }
  return sql.length;
}
