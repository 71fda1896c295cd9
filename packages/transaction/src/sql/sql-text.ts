import { endOfNestedComment } from './comments.js';

/** What is quoted on both databases. */
const QUOTED = [String.raw`'(?:[^']|'')*'`, String.raw`"(?:[^"]|"")*"`, '`[^`]*`'];
/** What is quoted on PostgreSQL, or a comment to the end of the line. */
export const QUOTED_IN_POSTGRES = [
  ...QUOTED,
  String.raw`--[^\n\r]*`,
  String.raw`(?<tag>\$(?:[A-Za-z_]\w*)?\$)[^]*?\k<tag>`,
];
export const WORD = String.raw`[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*`;

/** The same on SQLite, which has names in brackets, and comments that do not nest. */
export const QUOTED_IN_SQLITE = [...QUOTED, String.raw`--[^\n]*`, String.raw`\[[^\]]*\]`, String.raw`/\*[^]*?\*/`];

/** Whatever is quoted or a comment is passed over whole. */
const PARTS = new RegExp([...QUOTED_IN_SQLITE, String.raw`\$(?<parameter>\d+)`, WORD].join('|'), 'g');

/** Replaces `$n` by `?n`: SQLite would bind `$2` before `$1` when it comes first in the text. */
export function numberedParameters(sql: string): { text: string; count: number } {
  let count = 0;
  const text = sql.replaceAll(PARTS, (part, ...rest) => {
    const { parameter } = rest.at(-1) as { parameter?: string };
    if (parameter === undefined) return part;
    count = Math.max(count, Number(parameter));
    return `?${parameter}`;
  });
  return { text, count };
}

/** Names first, since they may have a dollar inside. */
const PARTS_IN_POSTGRES = new RegExp(
  [WORD, ...QUOTED.slice(0, 2), ...QUOTED_IN_POSTGRES.slice(QUOTED.length), String.raw`/\*`].join('|'),
  'g',
);

/**
 * What PostgreSQL reads outside of comments and quotes. Of a text with a backslash nothing: what that means depends on the
 * kind of the string, and on a setting.
 */
export function unquotedInPostgres(sql: string): string {
  if (sql.includes('\\')) return '';
  const parts = new RegExp(PARTS_IN_POSTGRES);
  let unquoted = '';
  let start = 0;
  for (let part = parts.exec(sql); part; part = parts.exec(sql)) {
    const [text] = part;
    if (text === '/*') parts.lastIndex = endOfNestedComment(sql, part.index) ?? sql.length;
    unquoted += sql.slice(start, part.index) + (isWord(text) ? text : quotesOf(text));
    start = parts.lastIndex;
  }
  return unquoted + sql.slice(start);
}

const isWord = (part: string): boolean => /^[\w\u0080-\uffff]/.test(part);
/** A comment separates words like a space; a quoted text stays what it is, without its content. */
const quotesOf = (part: string): string => (/^(?:--|\/\*)/.test(part) ? ' ' : part.startsWith('"') ? '""' : "''");
