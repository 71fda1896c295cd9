import { firstWords } from '../sql/control-statements.js';
import { SQLITE } from '../sql/lexer.js';

/** Of all PRAGMAs with a value, those that change nothing or the file itself. */
const HARMLESS =
  /^\s*pragma\s+(?:\w+\s*\.\s*)?(?:table_x?info|table_list|index_x?info|index_list|foreign_key_list|foreign_key_check|integrity_check|quick_check|wal_checkpoint|optimize|incremental_vacuum|user_version|application_id)\b/i;
/** Some PRAGMAs take effect as soon as they are prepared, so EXPLAIN does not stop them. */
const EXPLAIN = /^explain (?:query plan ?)?/;
/** However it is quoted. A column of that name costs a new connection, no more. */
const TEMPORARY = /\btemp(?:orary)?\b/i;
const HAS_VALUE = /[=(]/;
const QUERY_ONLY = /\bquery_only\b/i;

/** Whether a statement leaves settings, an attached database or a temporary table with its connection. */
export function changesSession(sql: string): boolean {
  const start = startOf(sql);
  if (start.startsWith('pragma')) return HAS_VALUE.test(sql) && !HARMLESS.test(sql);
  if (start.startsWith('create')) return TEMPORARY.test(sql);
  return /^(?:attach|detach)\b/.test(start);
}

/** Whether a statement would let a read-only connection write. */
export function allowsWriting(sql: string): boolean {
  return QUERY_ONLY.test(sql) && HAS_VALUE.test(sql) && startOf(sql).startsWith('pragma');
}

export function isExplain(sql: string): boolean {
  return firstWords(sql, SQLITE).startsWith('explain');
}

function startOf(sql: string): string {
  return firstWords(sql, SQLITE).replace(EXPLAIN, '');
}
