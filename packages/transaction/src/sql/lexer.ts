/** How a database reads SQL, where databases differ. */
export interface Dialect {
  /** The characters that quote a name, besides brackets. */
  readonly nameQuotes: string;
  /** True if `[` begins a subscript, or a quoted name; `either` decides by what is before it. */
  readonly brackets: 'subscript' | 'name' | 'either';
  /** True if a comment may contain others; `either` where it is closed if read so. */
  readonly nestedComments: boolean | 'either';
  /** The characters that end a line, and so a comment after `--`. */
  readonly lineEnds: string;
  /** True if there are `E'it\'s'` and `$tag$ ... $tag$`. */
  readonly postgresTexts: boolean;
  /** MySQL: `\\` escapes in `'...'` and `"..."`, both of which are texts, and `#` begins a comment. */
  readonly mysql?: true;
}

/** PostgreSQL. */
export const POSTGRES: Dialect = {
  nameQuotes: '"',
  brackets: 'subscript',
  nestedComments: true,
  lineEnds: '\\n\\r',
  postgresTexts: true,
};

export const SQLITE: Dialect = {
  nameQuotes: '"`',
  brackets: 'name',
  nestedComments: false,
  lineEnds: '\\n',
  postgresTexts: false,
};

/** MySQL and MariaDB, as they are unless sql_mode says otherwise. */
export const MYSQL: Dialect = {
  nameQuotes: '`',
  brackets: 'subscript',
  nestedComments: false,
  lineEnds: '\\n',
  postgresTexts: false,
  mysql: true,
};

/** A script for both. Where the two would end something in different places, it ends in the later one. */
export const EITHER: Dialect = {
  nameQuotes: '"`',
  brackets: 'either',
  nestedComments: 'either',
  lineEnds: '\\n\\r',
  postgresTexts: true,
};

/** `text` is a string literal, `name` a quoted name, `mark` any other single character. */
export type TokenKind = 'space' | 'comment' | 'text' | 'name' | 'parameter' | 'number' | 'word' | 'mark';

/** A piece of a statement. */
export interface Token {
  /** The kind of piece. */
  readonly kind: TokenKind;
  /** The piece as it is written. */
  readonly text: string;
  /** Its first position in the statement. */
  readonly start: number;
  /** The position of the next token. */
  readonly end: number;
  /** False for a comment, text or name that nothing closes. It goes on to the end. */
  readonly closed: boolean;
}

const LETTER = String.raw`A-Za-z_\u0080-\uffff`;
/** Beyond ASCII there is none: a no-break space is part of a name. */
const SPACE = String.raw`[ \t-\r]`;

/** How each kind of token begins; expressions find where it begins and loops where it ends, so that no text takes long. */
function beginnings({ nameQuotes, lineEnds, postgresTexts, brackets, mysql }: Dialect): RegExp {
  const texts = String.raw`(?:[bBnNxX]|[uU]&)?'`;
  const postgres = String.raw`|[eE]'|\$(?:[${LETTER}][\w\u0080-\uffff]*)?\$`;
  const sources: Readonly<Record<Exclude<TokenKind, 'mark'>, string>> = {
    // SQLite skips a byte order mark.
    space: brackets === 'subscript' ? `${SPACE}+` : String.raw`(?:${SPACE}|\uFEFF)+`,
    comment: mysql ? String.raw`(?:#|--(?=\s|$))[^\n]*|/\*` : String.raw`--[^${lineEnds}]*|/\*`,
    text: mysql ? `${texts}|"` : postgresTexts ? texts + postgres : texts,
    name: brackets === 'subscript' ? `[${nameQuotes}]` : String.raw`[${nameQuotes}\[]`,
    parameter: String.raw`[$?]\d+`,
    number: String.raw`0[xX][\da-fA-F_]+|\.?\d`,
    word: String.raw`[${LETTER}][\w$\u0080-\uffff]*`,
  };
  return new RegExp(`${KINDS.map((kind) => `(${sources[kind]})`).join('|')}|[^]`, 'y');
}

/** In the order of the groups of the expression. */
const KINDS = ['space', 'text', 'word', 'comment', 'parameter', 'number', 'name'] as const;

/** Made once for each dialect. */
const known = new WeakMap<Dialect, RegExp>();

function beginningsIn(dialect: Dialect): RegExp {
  const made = known.get(dialect) ?? beginnings(dialect);
  known.set(dialect, made);
  return made;
}

/**
 * All of a statement, token by token.
 *
 * @param sql - a statement, or a script
 * @param dialect - how the database reads it
 * @returns the tokens, whose texts together are `sql`
 */
export function* tokensOf(sql: string, dialect: Dialect): Generator<Token> {
  const beginning = beginningsIn(dialect);
  let nested = dialect.nestedComments;
  let subscripts = 0;
  let previous: Token | undefined;
  for (let start = 0; start < sql.length;) {
    beginning.lastIndex = start;
    const match = beginning.exec(sql);
    const opening = match?.[0] ?? '';
    let kind: TokenKind = KINDS.find((_kind, index) => match?.[index + 1] !== undefined) ?? 'mark';
    let end: number | undefined = start + opening.length;
    if (opening === '/*') {
      const nestedEnd = nested ? endOfNestedComment(sql, start) : undefined;
      // Comments that do not end as PostgreSQL reads them are written for SQLite.
      if (nested === 'either' && nestedEnd === undefined) nested = false;
      end = nested ? nestedEnd : after(sql, '*/', end);
    } else if (kind === 'text') end = dialect.mysql ? endOfMysqlText(sql, end) : endOfText(sql, opening, end);
    else if (kind === 'number') end = endOfRun(sql, end, DIGITS);
    else if (opening === '[' && (subscripts > 0 || isSubscript(sql, start, dialect, previous))) {
      kind = 'mark';
      subscripts += 1;
    } else if (opening === '[') end = after(sql, ']', end);
    else if (kind === 'name') end = endOfQuotes(sql, end, opening);
    else if (opening === ']' && subscripts > 0) subscripts -= 1;
    const closed = end !== undefined;
    end ??= sql.length;
    const token: Token = { kind, text: sql.slice(start, end), start, end, closed };
    yield token;
    if (kind !== 'space') previous = token;
    start = end;
  }
}

/** PostgreSQL's subscripts, where SQLite would have a space before a name. */
function isSubscript(sql: string, start: number, { brackets }: Dialect, previous: Token | undefined): boolean {
  if (brackets !== 'either' || !previous) return brackets === 'subscript';
  const isAttached = previous.end === start && /[\w$\u0080-\uffff\])"]/.test(sql.charAt(start - 1));
  return isAttached || /^array$/i.test(previous.text);
}

function after(sql: string, closing: string, from: number): number | undefined {
  const index = sql.indexOf(closing, from);
  return index === -1 ? undefined : index + closing.length;
}

const COMMENT_MARK = /\/\*|\*\//g;

function endOfNestedComment(sql: string, start: number): number | undefined {
  let depth = 0;
  COMMENT_MARK.lastIndex = start;
  for (let mark = COMMENT_MARK.exec(sql); mark; mark = COMMENT_MARK.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return COMMENT_MARK.lastIndex;
  }
  return undefined;
}

function endOfText(sql: string, opening: string, from: number): number | undefined {
  if (opening.startsWith('$')) return after(sql, opening, from);
  return /^e/i.test(opening) ? endOfEscapedText(sql, from) : endOfQuotes(sql, from, "'");
}

/** It ends with the quote it begins with, unless that is doubled or behind a backslash. */
function endOfMysqlText(sql: string, from: number): number | undefined {
  const quote = sql[from - 1];
  for (let at = from; at < sql.length; at += 1) {
    if (sql[at] === '\\' || (sql[at] === quote && sql[at + 1] === quote)) at += 1;
    else if (sql[at] === quote) return at + 1;
  }
  return undefined;
}

/** A quote that is doubled does not close. */
function endOfQuotes(sql: string, from: number, quote: string): number | undefined {
  for (let at = from; ; at += 2) {
    at = sql.indexOf(quote, at);
    if (at === -1) return undefined;
    if (sql[at + 1] !== quote) return at + 1;
  }
}

const ESCAPED_MARK = /\\[^]|''?/g;
/** The text that may be between the two lines of a string. */
const GAP = new RegExp(String.raw`${SPACE}+|--[^\r\n]*`, 'y');

/** Such a string continues in the next line, where its backslashes escape too. */
function endOfEscapedText(sql: string, from: number): number | undefined {
  for (let at = from; ;) {
    let mark: RegExpExecArray | null;
    ESCAPED_MARK.lastIndex = at;
    do mark = ESCAPED_MARK.exec(sql);
    while (mark && mark[0] !== "'");
    if (!mark) return undefined;
    const end = mark.index + 1;
    const gap = endOfRun(sql, end, GAP);
    if (sql[gap] !== "'" || !/[\r\n]/.test(sql.slice(end, gap))) return end;
    at = gap + 1;
  }
}

/** The digits of a number, and of a word that only begins like one; but an E before a quote begins a string. */
const DIGITS = /[\d_.]+|[eE][+-](?=\d)|(?![eE]')\w/y;

function endOfRun(sql: string, from: number, piece: RegExp): number {
  let end = from;
  for (piece.lastIndex = from; piece.test(sql);) end = piece.lastIndex;
  return end;
}
