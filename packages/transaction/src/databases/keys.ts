import type { IConnection, IDatabasePool } from '../contract.js';

interface NewKey {
  readonly key: string;
  /** The fingerprint of the request that the key was sent with. */
  readonly fingerprint: string;
  /** For how long a key is kept, by the clock of the database. */
  readonly lifetimeMs: number;
}

/** The table of the keys in one kind of database. Pools recognize statements by their text, so there is one text for each. */
export interface KeyTable {
  /** The statements that create the table and its index. */
  readonly schema: string;
  /**
   * Stores a new key, or takes over an expired one, and tells whether it did. While another transaction has the key, it fails with
   * SQLSTATE 55P03.
   */
  insert(connection: Pick<IConnection, 'query'>, key: NewKey): Promise<boolean>;
  /** Gives the row of a key that is known: `$1` key. */
  readonly find: string;
  /** Stores the response of a key: `$1` key, `$2` status, `$3` headers, `$4` body. */
  readonly keep: string;
  /** Removes a batch of what was stored after `after` and has expired, the oldest first, and gives when each was stored. */
  remove(pool: Pick<IDatabasePool, 'getConnection' | 'query'>, after: number, lifetimeMs: number): Promise<number[]>;
}

/** The number of expired keys that are removed at a time. */
export const BATCH_SIZE = 1000;

/** The text that continues an INSERT of `created_at`, which is now, to take over an expired key; `$3` is for how long keys are kept. */
export const takeOver = (table: string): string =>
  `ON CONFLICT (key) DO UPDATE
   SET fingerprint = excluded.fingerprint, status = NULL, headers = NULL, body = NULL, created_at = excluded.created_at
   WHERE ${table}.created_at <= excluded.created_at - CAST($3 AS bigint)`;

/**
 * The table where the database has ON CONFLICT and RETURNING. `insert` is `$1` key, `$2` fingerprint, `$3` for how long keys
 * are kept, and gives the number of keys stored as `inserted`, where it gives a row.
 */
export function tableWithOnConflict(table: string, now: string, insert: string): KeyTable {
  const name = table.slice(table.indexOf('.') + 1);
  // The oldest by their age, so a key that a new request takes over meanwhile is not among them. It begins after `$1`, the end of
  // the batch before: PostgreSQL would otherwise pass over all rows deleted so far, again for each batch.
  const remove = `DELETE FROM ${table} WHERE created_at > $1 AND created_at <= (
        SELECT max(created_at) FROM (
          SELECT created_at FROM ${table} WHERE created_at > $1 AND created_at <= ${now} - CAST($2 AS bigint) ORDER BY created_at LIMIT ${BATCH_SIZE}
        ) AS oldest
      ) RETURNING created_at`;
  return {
    // Milliseconds since 1970, so that every database can compare them.
    schema: `CREATE TABLE ${table} (
  key text PRIMARY KEY,
  fingerprint text NOT NULL,
  status integer,
  body text,
  created_at bigint NOT NULL,
  headers text
);
CREATE INDEX ${name}_by_age ON ${table} (created_at);
`,
    async insert(connection, { key, fingerprint, lifetimeMs }) {
      const [row] = await connection.query<{ inserted: number | string }>(insert, [key, fingerprint, lifetimeMs]);
      return Number(row?.inserted ?? 0) > 0;
    },
    find: `SELECT fingerprint, status, headers, body FROM ${table} WHERE key = CAST($1 AS text) LIMIT 1`,
    keep: `UPDATE ${table} SET status = CAST($2 AS integer), headers = CAST($3 AS text), body = CAST($4 AS text)
      WHERE key = CAST($1 AS text)`,
    async remove(pool, after, lifetimeMs) {
      const rows = await pool.query<{ created_at: number | string }>(remove, [after, lifetimeMs]);
      return rows.map(({ created_at: createdAt }) => Number(createdAt));
    },
  };
}
