import { withoutLiterals } from '@ambit/transaction';

const LONGEST = 2000;

/** The text of a statement, on one line, without literals and comments. */
export function withoutValues(sql: string): string {
  const text = withoutLiterals(sql.slice(0, 4 * LONGEST), { text: "'…'", number: '?' })
    .replaceAll(/\s+/g, ' ')
    .trim();
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
