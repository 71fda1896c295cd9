/** The parts of SQL text that matter: whatever is quoted or a comment is passed over whole. */
const PARTS = new RegExp(
  [
    String.raw`'(?:[^']|'')*'`,
    String.raw`"(?:[^"]|"")*"`,
    '`[^`]*`',
    String.raw`\[[^\]]*\]`,
    String.raw`--[^\n]*`,
    String.raw`/\*[^]*?\*/`,
    String.raw`(?<tag>\$(?:[A-Za-z_]\w*)?\$)[^]*?\k<tag>`,
    String.raw`\$(?<parameter>\d+)`,
    String.raw`(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)`,
    '(?<semicolon>;)',
  ].join('|'),
  'g',
);

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

/**
 * The statements of a script, for a migration: `query()` takes one statement at a time on both databases.
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
  const statements: string[] = [];
  let start = 0;
  let words: string[] = [];
  for (const match of script.matchAll(PARTS)) {
    const { word, semicolon } = match.groups ?? {};
    if (word !== undefined) words.push(word.toLowerCase());
    if (semicolon === undefined || insideTrigger(words)) continue;
    add(script.slice(start, match.index));
    start = match.index + 1;
  }
  add(script.slice(start));
  return statements;

  function add(statement: string): void {
    if (words.length > 0) statements.push(statement.trim());
    words = [];
  }
}

/** The statements in a trigger's body end with semicolons too; only the one after its END ends the trigger. */
function insideTrigger(words: readonly string[]): boolean {
  if (words[0] !== 'create' || !words.slice(1, 4).includes('trigger')) return false;
  const opened = words.filter((word) => word === 'begin' || word === 'case').length;
  const closed = words.filter((word) => word === 'end').length;
  return opened > closed;
}
