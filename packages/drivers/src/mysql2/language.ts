import { type BeginOptions, TransactionError } from '@ambit/transaction';
import {
  connectionLost,
  firstWords,
  type Language,
  MYSQL,
  refusedStatement,
  tokensOf,
} from '@ambit/transaction/extension';

/** Both servers begin, commit or roll back at these, and read them behind a `#` comment too. MariaDB runs blocks that may do so. */
const CONTROL = /^(?:begin|start transaction|commit|rollback(?! (?:work )?to\b)|xa|if|case|loop|repeat|while|for)\b/;
/** The server commits the open transaction before and after these, without a word. */
const COMMITS =
  /^(?:alter|analyze|backup|cache|change|check|create(?! (?:or replace )?temporary table)|drop(?! temporary)|flush|grant|install|load index|lock|optimize|purge|rename|repair|reset|revoke|set password|start|stop|truncate|uninstall|unlock)\b/;
const CHANGES_SESSION =
  /^(?:set(?! transaction)|create (?:or replace )?temporary|lock|prepare|deallocate|use|handler)\b/;
const CHANGES_SESSION_INSIDE = /\bget_lock\s*\(|@\w+\s*:=/i;

/** The numbers of MySQL and MariaDB as the SQLSTATE that PostgreSQL would give: their own are too coarse. */
const SQLSTATES: Readonly<Record<number, string>> = {
  1022: '23505',
  1062: '23505',
  1048: '23502',
  1364: '23502',
  1216: '23503',
  1217: '23503',
  1451: '23503',
  1452: '23503',
  3819: '23514',
  4025: '23514',
  1064: '42601',
  1205: '55P03',
  1213: '40001',
  1020: '40001',
  1040: '53300',
  1203: '53300',
  1317: '57014',
  1290: '25006',
  1836: '25006',
};

/**
 * With a snapshot, because the server takes a savepoint that is older than the first statement for the begin of the transaction:
 * to roll back to it would release its locks, and later reads would be of a newer snapshot.
 */
function begin({ isolation, readOnly }: BeginOptions): readonly string[] {
  const access = readOnly === undefined ? '' : `, READ ${readOnly ? 'ONLY' : 'WRITE'}`;
  const start = `START TRANSACTION WITH CONSISTENT SNAPSHOT${access}`;
  return isolation === undefined ? [start] : [`SET TRANSACTION ISOLATION LEVEL ${isolation.toUpperCase()}`, start];
}

function check(sql: string, { inTransaction }: { inTransaction: boolean }): void {
  for (const { kind, text } of tokensOf(sql, MYSQL)) {
    if (kind === 'comment' && /^\/\*M?!/.test(text)) throw refused('The text of a comment /*! */ is run by the server');
    if (kind !== 'comment' && kind !== 'space') break;
  }
  const start = firstWords(sql, MYSQL);
  if (isSetStatement(start)) return check(behindFor(sql), { inTransaction });
  if (CONTROL.test(start) || (/^set\b/.test(start) && names(sql, 'autocommit'))) {
    throw refused('query() was called with a statement that begins, commits or rolls back a transaction');
  }
  if (inTransaction && COMMITS.test(start)) {
    throw refused('The server would commit the open transaction before this statement');
  }
}

function leavesSessionState(sql: string): boolean {
  const start = firstWords(sql, MYSQL);
  if (isSetStatement(start)) return leavesSessionState(behindFor(sql));
  return CHANGES_SESSION_INSIDE.test(sql) || CHANGES_SESSION.test(start);
}

/** `SET STATEMENT max_statement_time = 5 FOR SELECT ...` of MariaDB. */
const isSetStatement = (start: string): boolean => /^set statement\b/.test(start);

function behindFor(sql: string): string {
  for (const { kind, text, start } of tokensOf(sql, MYSQL))
    if (kind === 'word' && text.toLowerCase() === 'for') return sql.slice(start + text.length);
  return '';
}

/** Also as the second of several settings, in quotes, and as `@@autocommit`. */
function names(sql: string, name: string): boolean {
  const tokens = Array.from(tokensOf(sql, MYSQL));
  return tokens.some(({ kind, text }) => kind !== 'text' && kind !== 'comment' && text.toLowerCase().includes(name));
}

function refused(what: string): TransactionError {
  return new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what);
}

function translate(error: unknown, { isLost }: { isLost: boolean }): TransactionError {
  if (isLost) return connectionLost(error);
  const { errno, sqlState } = error as { errno?: number; sqlState?: string };
  return refusedStatement(error, (errno === undefined ? undefined : SQLSTATES[errno]) ?? sqlState);
}

/** MySQL and MariaDB. */
export const MYSQL_LANGUAGE: Language = {
  begin,
  check,
  leavesSessionState,
  translate,
};

/** Whether the driver will not use the connection again. */
export function isFatal(error: unknown): boolean {
  return (error as { fatal?: unknown } | undefined)?.fatal === true;
}
