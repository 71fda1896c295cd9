import { endOfFlatComment, endOfNestedComment } from './comments.js';
import { TransactionError } from '../core/errors.js';

const CONTROL = /^(?:begin|start transaction|commit|end|abort|rollback|prepare transaction)\b/;
const SAVEPOINT = /^(?:savepoint|release)\b/;
const ROLLBACK_TO = /^rollback (?:(?:work|transaction) )?to\b/;
/** So many words tell all of these from each other. */
const WORDS_THAT_TELL = 4;

const WORD = /\w+/y;
const SPACE = /\s*/y;
const SPACE_AND_EMPTY_STATEMENTS = /[\s;]*/y;

/** What begins with one of these is read alike by both databases, and controls nothing. */
const PLAIN = /^\s*(?:select|insert|update|delete|with|values)\b/i;

/** Whether the statement would begin or end a transaction behind the back of whoever owns it. */
export function isTransactionControl(sql: string): boolean {
  return !PLAIN.test(sql) && readings(sql).some((statement) => CONTROL.test(statement) && !ROLLBACK_TO.test(statement));
}

export function refuseTransactionControl(sql: string): void {
  if (typeof sql !== 'string') {
    const what = `query() takes the statement as a string, not a value of type ${sql === null ? 'null' : typeof sql}`;
    throw new TransactionError('AMBIT_TX_PARAMETER', what, { sqlState: '42601' });
  }
  if (!isTransactionControl(sql)) return;
  throw new TransactionError(
    'AMBIT_TX_CONTROL_STATEMENT',
    'query() was given a statement that begins or ends a transaction',
  );
}

/** For statements outside of a transaction: there SQLite would begin one at a savepoint, which nobody ends. */
export function refuseSavepoint(sql: string): void {
  if (PLAIN.test(sql) || !readings(sql).some((statement) => SAVEPOINT.test(statement))) return;
  throw new TransactionError('AMBIT_TX_STATEMENT_FAILED', 'A savepoint is within a transaction only', {
    sqlState: '25P01',
  });
}

/** `ROLLBACK TO SAVEPOINT` repairs a transaction rather than ending it. */
export function isRollbackTo(sql: string): boolean {
  return !PLAIN.test(sql) && readings(sql).every((statement) => ROLLBACK_TO.test(statement));
}

interface Dialect {
  readonly endOfComment: (sql: string, start: number) => number | undefined;
  readonly endOfLine: RegExp;
}

const DIALECTS = {
  postgres: { endOfComment: endOfNestedComment, endOfLine: /[\n\r]/g },
  sqlite: { endOfComment: endOfFlatComment, endOfLine: /\n/g },
} satisfies Record<string, Dialect>;

/** How the statement begins as either database reads it: in PostgreSQL comments nest, in SQLite they do not. */
function readings(sql: string): string[] {
  return [wordsAtStart(sql, DIALECTS.postgres), wordsAtStart(sql, DIALECTS.sqlite)];
}

/** How a statement begins, in lower case and without comments, as that database reads it; nothing for SELECT, INSERT and the like. */
export function firstWords(sql: string, dialect: keyof typeof DIALECTS): string {
  return PLAIN.test(sql) ? '' : wordsAtStart(sql, DIALECTS[dialect]);
}

/** Without the comments that either database passes over, and the semicolons of empty statements before. */
function wordsAtStart(sql: string, dialect: Dialect): string {
  const words: string[] = [];
  let start = passOver(SPACE_AND_EMPTY_STATEMENTS, sql, 0, dialect);
  while (words.length < WORDS_THAT_TELL) {
    WORD.lastIndex = start;
    const [word] = WORD.exec(sql) ?? [];
    if (word === undefined) break;
    words.push(word.toLowerCase());
    start = passOver(SPACE, sql, WORD.lastIndex, dialect);
  }
  return words.join(' ');
}

/** Where it goes on after the comments and what else is nothing. */
function passOver(nothing: RegExp, sql: string, from: number, { endOfComment, endOfLine }: Dialect): number {
  let start = from;
  for (;;) {
    nothing.lastIndex = start;
    nothing.test(sql);
    start = nothing.lastIndex;
    if (sql.startsWith('--', start)) {
      endOfLine.lastIndex = start;
      start = endOfLine.test(sql) ? endOfLine.lastIndex : sql.length;
    } else if (sql.startsWith('/*', start)) start = endOfComment(sql, start) ?? sql.length;
    else return start;
  }
}
