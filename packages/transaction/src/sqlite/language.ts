import { connectionLost, TransactionError } from '../errors.js';
import type { Language } from '../pool/driver.js';
import { firstWords } from '../sql/control-statements.js';
import { SQLITE } from '../sql/lexer.js';
import { translated } from './errors.js';
import { sqliteValue } from './values.js';

/** PRAGMAs with a value that change nothing, or the file itself. */
const HARMLESS =
  /^\s*pragma\s+(?:\w+\s*\.\s*)?(?:table_x?info|table_list|index_x?info|index_list|foreign_key_list|foreign_key_check|integrity_check|quick_check|wal_checkpoint|optimize|incremental_vacuum|user_version|application_id)\b/i;
/** Some PRAGMAs take effect as soon as they are prepared, so EXPLAIN does not stop them. */
const EXPLAIN = /^explain (?:query plan ?)?/;
/** However it is quoted. A column of that name costs a new connection, no more. */
const TEMPORARY = /\btemp(?:orary)?\b/i;
/** The schema of temporary objects, in front of the name of what is created. */
const IN_TEMP = /\bcreate\s+(?:virtual\s+)?(?:table|view|trigger)\s+(?:if\s+not\s+exists\s+)?["'`[]?temp["'`\]]?\s*\./i;
/** The settings of a connection that cannot be replaced: they are set back for the next user. */
const SET_BACK = /^\s*pragma\s+(?:query_only|defer_foreign_keys)\b/i;
export const SET_BACK_SQL = 'PRAGMA query_only = OFF; PRAGMA defer_foreign_keys = OFF';
const HAS_VALUE = /[=(]/;
const QUERY_ONLY = /\bquery_only\b/i;

/** True if a statement leaves settings, an attached database or a temporary table with its connection. */
export function changesSession(sql: string): boolean {
  const start = startOf(sql);
  if (start.startsWith('pragma')) return HAS_VALUE.test(sql) && !HARMLESS.test(sql);
  if (start.startsWith('create')) return TEMPORARY.test(sql);
  return /^(?:attach|detach)\b/.test(start);
}

/** True if a statement that changes the session leaves what only a new connection is without. */
export function staysWithConnection(sql: string): boolean {
  if (startOf(sql).startsWith('create')) return startOf(sql).startsWith('create temp') || IN_TEMP.test(sql);
  return !SET_BACK.test(sql);
}

/** True if a statement would let a read-only connection write. */
function allowsWriting(sql: string): boolean {
  return QUERY_ONLY.test(sql) && HAS_VALUE.test(sql) && startOf(sql).startsWith('pragma');
}

function startOf(sql: string): string {
  return firstWords(sql, SQLITE).replace(EXPLAIN, '');
}

/** SQLite, whichever driver is used. */
export const SQLITE_LANGUAGE: Language = {
  /**
   * SQLite is always serialisable, which satisfies every level. A transaction that may write takes the lock at once, so that no
   * later statement can find it taken.
   */
  begin: ({ readOnly = false }) => [readOnly ? 'BEGIN' : 'BEGIN IMMEDIATE'],
  isolationSql: 'SELECT $1 AS isolation',
  check: (sql, { readOnly }) => {
    if (!readOnly || !allowsWriting(sql)) return;
    const what = 'A read-only connection cannot change query_only';
    throw new TransactionError('AMBIT_TX_STATEMENT_FAILED', what, { sqlState: '25006' });
  },
  // The connection sees to it by itself: the pool has one, which may not be closed.
  leavesSessionState: () => false,
  value: sqliteValue,
  translate: (error, { isLost }) => (isLost ? connectionLost(error, '08003') : translated(error)),
};
