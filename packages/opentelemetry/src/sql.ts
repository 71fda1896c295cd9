/** Strings, and numbers that stand alone: `$1` and `column2` stay as they are. */
const LITERAL = /'(?:[^']|'')*'|(?<![\w$.])\d+(?:\.\d+)?\b/g;

/** A statement's text without the values that may be written into it. Parameters are not in the text to begin with. */
export const masked = (sql: string): string => sql.replaceAll(LITERAL, '?');

export const operationOf = (sql: string): string => /^\s*(\w+)/.exec(sql)?.[1]?.toUpperCase() ?? 'STATEMENT';
