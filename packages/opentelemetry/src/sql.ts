import { withoutLiterals } from '@ambit/transaction';

/** The text of a statement without literals. Parameters are not part of the text. */
export const masked = (sql: string): string => withoutLiterals(sql, { text: '?', number: '?' }).trim();

/** The first word of a masked statement. There are few of them, as it must be for names of spans. */
export const operationOf = (maskedSql: string): string => /^\w+/.exec(maskedSql)?.[0].toUpperCase() ?? 'STATEMENT';
