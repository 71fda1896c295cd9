import { POSTGRES, tokensOf } from './lexer.js';

/** The texts that `withoutLiterals()` writes in place of literals. */
export interface Placeholders {
  /** In place of a string. */
  readonly text: string;
  /** In place of a number. */
  readonly number: string;
}

/** The dialect of PostgreSQL, which SQLite mostly shares: only backticks quote names in SQLite alone. */
const DIALECT = { ...POSTGRES, nameQuotes: '"`' };

/** MariaDB reads on behind `\'`, where PostgreSQL and SQLite have a string that ends: the rest may be a value, so it is left out. */
const READ_ON = /^(?:[bnx]|u&)?'[^]*\\'/i;
/** MariaDB has strings in double quotes, too. What no name would contain is one. */
const NO_NAME = /^"[^]*[^\w '$.\u0080-\uffff-][^]*"$/;

/**
 * The statement with a placeholder for every literal, and without comments, for a log or a span: values that are written
 * into the text may be personal data.
 *
 * @param sql - the text of the statement
 * @param placeholders - what replaces a string and a number
 * @returns the statement, such as `SELECT * FROM users WHERE email = ?`
 */
export function withoutLiterals(sql: string, placeholders: Placeholders): string {
  let shown = '';
  for (const { kind, text, start, closed } of tokensOf(sql, DIALECT)) {
    if (kind === 'comment') shown += ' ';
    else if (kind === 'text' && READ_ON.test(text)) return shown + placeholders.text;
    else if (kind === 'text' || kind === 'number') shown += placeholders[kind];
    else if (kind === 'name' && NO_NAME.test(text)) shown += placeholders.text;
    // Behind a quote that nothing closes there may still be literals.
    else if (!closed) return shown + text.charAt(0) + withoutLiterals(sql.slice(start + 1), placeholders);
    else shown += text;
  }
  return shown;
}
