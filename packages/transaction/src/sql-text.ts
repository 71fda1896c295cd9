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
