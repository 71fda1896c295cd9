import { connectionLost } from '../core/connection-errors.js';
import type { BeginOptions } from '../core/contract.js';
import { refusedStatement, TransactionError } from '../core/errors.js';
import { fieldOf } from '../core/sql-state.js';
import type { Language } from '../driver/driver.js';
import { firstWords } from '../sql/control-statements.js';
import { MYSQL, tokensOf } from '../sql/lexer.js';

/** Both servers begin, commit or roll back at these, and read them behind a `#` comment too. */
const CONTROL =
  /^(?:begin|start transaction|commit|rollback(?! (?:work )?to\b)|xa)\b|^set (?:session |global |local )?autocommit/;
/** The server commits the open transaction before and after these, without a word. */
const COMMITS =
  /^(?:alter|analyze|cache|change|check|create(?! temporary| or replace temporary)|drop(?! temporary)|flush|grant|install|load index|lock|optimize|purge|rename|repair|reset|revoke|set password|start|stop|truncate|uninstall|unlock)\b/;
const CHANGES_SESSION =
  /^(?:set(?! transaction| statement)|create (?:or replace )?temporary|lock|prepare|deallocate|use|handler)\b/;
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

function begin({ isolation, readOnly }: BeginOptions): readonly string[] {
  const start = readOnly === undefined ? 'START TRANSACTION' : `START TRANSACTION READ ${readOnly ? 'ONLY' : 'WRITE'}`;
  return isolation === undefined ? [start] : [`SET TRANSACTION ISOLATION LEVEL ${isolation.toUpperCase()}`, start];
}

function check(sql: string, { inTransaction }: { inTransaction: boolean }): void {
  for (const { kind, text } of tokensOf(sql, MYSQL)) {
    if (kind === 'comment' && /^\/\*M?!/.test(text)) throw refused('The text of a comment /*! */ is run by the server');
    if (kind !== 'comment' && kind !== 'space') break;
  }
  const start = firstWords(sql, MYSQL);
  if (CONTROL.test(start)) {
    throw refused('query() was called with a statement that begins, commits or rolls back a transaction');
  }
  if (inTransaction && COMMITS.test(start)) {
    throw refused('The server would commit the open transaction before this statement');
  }
}

function refused(what: string): TransactionError {
  return new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what);
}

function translate(error: unknown, isLost: boolean): TransactionError {
  if (isLost) return connectionLost(error);
  const { errno, sqlState } = error as { errno?: number; sqlState?: string };
  return refusedStatement(error, (errno === undefined ? undefined : SQLSTATES[errno]) ?? sqlState);
}

/** MySQL and MariaDB. */
export const MYSQL_LANGUAGE: Language = {
  begin,
  check,
  leavesSessionState: (sql) => CHANGES_SESSION_INSIDE.test(sql) || CHANGES_SESSION.test(firstWords(sql, MYSQL)),
  translate,
};

/** Whether the driver will not use the connection again. */
export function isFatal(error: unknown): boolean {
  return fieldOf(error, 'fatal' as 'code') === true;
}
