import { NOW_MS } from '@ambit/transaction/extension';
import type { Dialect } from './key-table.js';
import { tableWithOnConflict, takeOver } from './on-conflict.js';

/** With types, so that the server may keep the statement prepared. */
const LOCK_TIMEOUT = "CAST('lock_timeout' AS text)";

export const postgres: Dialect = (table) =>
  tableWithOnConflict(
    table,
    NOW_MS.postgres,
    // One round trip in place of three: the limit for locks is set before the row is written, and put back afterwards. The CASE
    // makes the second depend on the first.
    `WITH before AS MATERIALIZED (SELECT current_setting(${LOCK_TIMEOUT}) AS value), stored AS (
        INSERT INTO ${table} (key, fingerprint, created_at)
        SELECT CAST($1 AS text), CAST($2 AS text), ${NOW_MS.postgres} FROM before
        WHERE set_config(${LOCK_TIMEOUT}, CAST('100ms' AS text), true) IS NOT NULL
        ${takeOver(table)}
        RETURNING key
      ), counted AS MATERIALIZED (SELECT count(*) AS inserted FROM stored)
      SELECT inserted, set_config(${LOCK_TIMEOUT}, CASE WHEN inserted >= 0 THEN value END, true) AS lock_timeout
      FROM counted, before`,
  );
