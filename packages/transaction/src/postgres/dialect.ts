import type { Database } from '../databases/database.js';
import { tableWithReturning } from '../databases/events.js';
import { tableWithOnConflict, takeOver } from '../databases/keys.js';
import { settingsChangedBy } from './language.js';

/** Milliseconds since 1970, of the statement: now() is that of BEGIN, and in a sandbox that of all its transactions. */
const NOW = 'CAST(extract(epoch FROM statement_timestamp()) * 1000 AS bigint)';
/** With types, so that the server may keep the statement prepared. */
const LOCK_TIMEOUT = "CAST('lock_timeout' AS text)";
/** Asks for properties of PostgreSQL; only that has this table. */
const SANDBOX_PROBE = `SELECT EXISTS (SELECT FROM pg_constraint WHERE condeferrable) AS deferrable,
  set_config('lock_timeout', $1, true) AS lock_timeout`;

export const postgres = {
  now: NOW,
  events: (table) =>
    tableWithReturning(table, {
      position: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
      // Space on each page, so that a claim changes its row in place and no index; and a vacuum long before a fifth is garbage.
      storage: ' WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02)',
      // The lock is held until COMMIT and taken before the position, so of two events with one key the lower position commits first.
      turn: `SELECT pg_advisory_xact_lock(hashtextextended($3, CAST(CAST('${table}' AS regclass) AS bigint)))`,
      now: NOW,
      elements: (parameter) => `json_array_elements_text(CAST(${parameter} AS json))`,
      objects: (parameter) => `json_array_elements(CAST(${parameter} AS json))`,
      greatest: 'greatest',
      least: 'least',
      skipLocked: 'FOR UPDATE SKIP LOCKED',
      anyOf: (query) => `= ANY (ARRAY(${query}))`,
    }),
  keys: (table) =>
    tableWithOnConflict(
      table,
      NOW,
      // One round trip in place of three: the limit for locks is set before the row is written, and put back afterwards. The CASE
      // makes the second depend on the first.
      `WITH before AS MATERIALIZED (SELECT current_setting(${LOCK_TIMEOUT}) AS value), stored AS (
        INSERT INTO ${table} (key, fingerprint, created_at)
        SELECT CAST($1 AS text), CAST($2 AS text), ${NOW} FROM before
        WHERE set_config(${LOCK_TIMEOUT}, CAST('100ms' AS text), true) IS NOT NULL
        ${takeOver(table)}
        RETURNING key
      ), counted AS MATERIALIZED (SELECT count(*) AS inserted FROM stored)
      SELECT inserted, set_config(${LOCK_TIMEOUT}, CASE WHEN inserted >= 0 THEN value END, true) AS lock_timeout
      FROM counted, before`,
    ),
  async sandbox(connection, lockTimeoutMs) {
    const [found] = await connection.query<{ deferrable: boolean }>(SANDBOX_PROBE, [String(lockTimeoutMs)]);
    return {
      beginReadOnly: 'SET TRANSACTION READ ONLY',
      hasDeferrable: found?.deferrable === true,
      settingsChangedBy,
      mayLoseTransaction: false,
    };
  },
} satisfies Database;
