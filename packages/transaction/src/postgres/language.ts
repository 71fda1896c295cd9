import { refusedStatement } from '../core/errors.js';
import { sqlStateOf } from '../core/sql-state.js';
import type { Language } from '../driver/driver.js';
import { beginStatement } from '../sql/control-statements.js';
import { hangsUp, translated } from './errors.js';
import { leavesSessionState } from './session-state.js';

export const ISOLATION_SQL = "SELECT current_setting('transaction_isolation') AS isolation WHERE $1::text IS NOT NULL";

/** PostgreSQL, whichever driver is used. */
export const POSTGRES_LANGUAGE: Language = {
  begin: (options) => [beginStatement(options)],
  isolationSql: ISOLATION_SQL,
  leavesSessionState,
  translate: (error, isLost) =>
    isLost || hangsUp(error) ? translated(error, true) : refusedStatement(error, sqlStateOf(error)),
};
