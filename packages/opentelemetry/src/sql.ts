import { withoutLiterals } from '@ambit/transaction';

/** A statement's text without the values that may be written into it. Parameters are not in the text to begin with. */
export const masked = (sql: string): string => withoutLiterals(sql, { text: '?', number: '?' }).trim();

/** The first word of a statement that was masked: of those there are few, as names of spans must be. */
export const operationOf = (maskedSql: string): string => /^\w+/.exec(maskedSql)?.[0].toUpperCase() ?? 'STATEMENT';
