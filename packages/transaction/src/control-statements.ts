import { endOfFlatComment, endOfNestedComment } from './comments.js';
import { TransactionError } from './errors.js';

const CONTROL = /^(?:begin|start\s+transaction|commit|end|abort|rollback|prepare\s+transaction)\b/i;
const NOTHING = /[\s;]*/y;
const SAVEPOINT = /^(?:savepoint|release)\b/i;
const ROLLBACK_TO = /^rollback\s+(?:(?:work|transaction)\s+)?to\b/i;

/** What begins with one of these is read alike by both databases, and controls nothing. */
const PLAIN = /^\s*(?:select|insert|update|delete|with|values)\b/i;

/** Whether the statement would begin or end a transaction behind the back of whoever owns it. */
export function isTransactionControl(sql: string): boolean {
  return !PLAIN.test(sql) && readings(sql).some((statement) => CONTROL.test(statement) && !ROLLBACK_TO.test(statement));
}

export function refuseTransactionControl(sql: string): void {
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

/** The statement as either database reads it: in PostgreSQL comments nest, in SQLite they do not. */
function readings(sql: string): string[] {
  return [bare(sql, endOfNestedComment, /[\n\r]/g), bare(sql, endOfFlatComment, /\n/g)];
}

/** Without the comments, and the semicolons of empty statements, that either database passes over. */
function bare(
  sql: string,
  endOfComment: (sql: string, start: number) => number | undefined,
  endOfLine: RegExp,
): string {
  let start = 0;
  for (;;) {
    NOTHING.lastIndex = start;
    NOTHING.test(sql);
    start = NOTHING.lastIndex;
    if (sql.startsWith('--', start)) {
      endOfLine.lastIndex = start;
      start = endOfLine.test(sql) ? endOfLine.lastIndex : sql.length;
    } else if (sql.startsWith('/*', start)) start = endOfComment(sql, start) ?? sql.length;
    else return sql.slice(start);
  }
}
