import type { IConnection, IDatabasePool } from '../contract.js';
import { runScript } from './run-on-pool.js';

interface NewRow {
  readonly id: string;
  readonly topic: string;
  readonly key: string | undefined;
  /** The payload as JSON. */
  readonly payload: string;
}

/** Which events a relay asks for. */
export interface Wanted {
  readonly relay: string;
  readonly claimMs: number;
  readonly limit: number;
  /** The keys of events that this relay has settled: events that were postponed because of them are looked at, too. */
  readonly keys: readonly string[];
}

interface StoredRow {
  readonly id: string;
  readonly topic: string;
  readonly key: string | null;
  readonly payload: string;
  readonly created_at: number | string;
  readonly attempts: number | string;
}

export interface ClaimedRow extends StoredRow {
  readonly position: number | string;
  readonly age: number | string;
}

export interface Claim {
  readonly claimed: readonly ClaimedRow[];
  /** The number of events that were found that wait for an earlier one. */
  readonly postponed: number;
}

/** An event that failed too often. */
export interface DeadRow extends StoredRow {
  readonly settled_at: number | string;
  readonly last_error: string | null;
}

/** The texts of what each database does in one statement. Pools recognize statements by their text, so there is one text for each. */
interface Statements {
  /** `$1` the relay, `$2` for how long, `$3` a JSON array of positions. */
  readonly renew: string;
  /** `$1` a JSON array of positions. */
  readonly remove: string;
  readonly keep: string;
  /** `$1` a JSON array of `Released`, `$2` the relay. */
  readonly release: string;
  readonly measure: string;
  /** `$1` how many. */
  readonly deadLetters: string;
}

export interface EventTable {
  readonly name: string;
  /** The statements that create the table and its indexes. */
  readonly schema: string;
  readonly sql: Statements;
  create(pool: Pick<IDatabasePool, 'getConnection' | 'query'>): Promise<void>;
  publish(connection: Pick<IConnection, 'query'>, row: NewRow): Promise<unknown>;
  /**
   * Claims events. One is claimed together with all earlier ones of its key, or postponed until the first of those may be claimed.
   */
  claim(pool: Pick<IDatabasePool, 'getConnection' | 'query'>, wanted: Wanted): Promise<Claim>;
  /** Deletes what was delivered so long ago, and gives how many there were. */
  sweep(pool: Pick<IDatabasePool, 'query'>, keepMs: number, limit: number): Promise<number>;
  /** Makes dead letters pending again, and gives how many there were. */
  retry(pool: Pick<IDatabasePool, 'query'>, ids: readonly string[] | 'all'): Promise<number>;
}

/**
 * An event that waits for one that is being delivered is looked at again after so long, unless the relay that settled that one
 * does so at once.
 */
export const NAP_MS = 1000;

/** Everything in which the statements differ between databases that have RETURNING and partial indexes. */
interface Sql {
  /** The type of a column that numbers the rows. */
  readonly position: string;
  /** The clause behind the columns of the table. */
  readonly storage: string;
  /** The statement with which a transaction waits until it may publish with the key `$3`. Default: the database has one writer at a time. */
  readonly turn?: string;
  /** Milliseconds since 1970. */
  readonly now: string;
  /** A FROM item over a JSON array of texts or numbers: each is its column `value`. */
  readonly elements: (parameter: string) => string;
  /** The same for a JSON array of objects. */
  readonly objects: (parameter: string) => string;
  readonly greatest: string;
  readonly least: string;
  readonly skipLocked: string;
  /** Appended to `IN`: makes PostgreSQL use the index for each element. */
  readonly anyOf: (query: string) => string;
}

/** Each operation is one statement. */
interface ReturningStatements extends Statements {
  /** `$1` id, `$2` topic, `$3` key, `$4` payload. */
  readonly publish: string;
  /** `$1` id, `$2` topic, `$3` payload. */
  readonly publishWithoutKey: string;
  /** `$1` the relay, `$2` for how long, `$3` how many, `$4` a JSON array of keys whose events may have been postponed. */
  readonly claim: string;
  /** `$1` for how long delivered events are kept, `$2` how many at a time. */
  readonly sweep: string;
  /** `$1` a JSON array of ids. */
  readonly retry: string;
  readonly retryAll: string;
}

export interface ReturningTable extends EventTable {
  readonly sql: ReturningStatements;
}

export function tableWithReturning(table: string, sql: Sql): ReturningTable {
  const schema = schemaOf(table, sql);
  const statements = statementsOf(table, sql);
  return {
    name: table,
    schema,
    sql: statements,
    create: (pool) => runScript(pool, schema),
    publish: (connection, { id, topic, key, payload }) =>
      key === undefined
        ? connection.query(statements.publishWithoutKey, [id, topic, payload])
        : connection.query(statements.publish, [id, topic, key, payload]),
    async claim(pool, { relay, claimMs, limit, keys }) {
      const params = [relay, claimMs, limit, JSON.stringify(keys)];
      const rows = await pool.query<ClaimedRow & { claimed_by: string | null }>(statements.claim, params);
      const claimed = rows.filter(({ claimed_by: by }) => by === relay);
      return { claimed, postponed: rows.length - claimed.length };
    },
    sweep: async (pool, keepMs, limit) => (await pool.query(statements.sweep, [keepMs, limit])).length,
    async retry(pool, ids) {
      const rows =
        ids === 'all'
          ? await pool.query(statements.retryAll)
          : await pool.query(statements.retry, [JSON.stringify(ids)]);
      return rows.length;
    },
  };
}

/** Each index but the primary key has only the rows of one state, so rows that are delivered or dead cost nothing. */
function schemaOf(table: string, { position, storage }: Sql): string {
  const name = table.slice(table.indexOf('.') + 1);
  return `CREATE TABLE ${table} (
  position ${position},
  id text NOT NULL,
  topic text NOT NULL,
  key text,
  payload text NOT NULL,
  created_at bigint NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead')),
  attempts integer NOT NULL DEFAULT 0,
  due_at bigint,
  claimed_by text,
  claimed_until bigint,
  settled_at bigint,
  last_error text
)${storage};
CREATE INDEX ${name}_fresh ON ${table} (position) WHERE state = 'pending' AND due_at IS NULL;
CREATE INDEX ${name}_delayed ON ${table} (due_at, position) WHERE state = 'pending' AND due_at IS NOT NULL;
CREATE INDEX ${name}_by_key ON ${table} (key, position) WHERE state = 'pending' AND key IS NOT NULL;
CREATE INDEX ${name}_dead ON ${table} (position) WHERE state = 'dead';
CREATE INDEX ${name}_delivered ON ${table} (settled_at) WHERE state = 'delivered';
`;
}

function statementsOf(table: string, sql: Sql): ReturningStatements {
  const { turn, now, elements, objects, greatest, least, skipLocked, anyOf } = sql;
  const positions = anyOf(`SELECT CAST(item.value AS bigint) FROM ${elements('$1')} AS item`);
  const unclaimed = `(claimed_until IS NULL OR claimed_until < ${now})`;
  const revive = `SET state = 'pending', attempts = 0, due_at = NULL, settled_at = NULL`;
  const insert = `INSERT INTO ${table} (id, topic, key, payload, created_at) SELECT $1, $2, $3, $4, ${now}`;
  return {
    publish: turn === undefined ? insert : `WITH turn AS MATERIALIZED (${turn}) ${insert} FROM turn`,
    publishWithoutKey: `INSERT INTO ${table} (id, topic, payload, created_at) VALUES (CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), ${now})`,
    // The first event of each key is looked at, too: where it is due, and was postponed for longer than those behind it,
    // those would be found again and again, and never it.
    claim: `WITH due AS MATERIALIZED (
        SELECT position, key FROM (
          SELECT position, key FROM ${table} WHERE state = 'pending' AND due_at IS NULL AND ${unclaimed}
          ORDER BY position LIMIT $3
        ) AS fresh
        UNION ALL
        SELECT position, key FROM (
          SELECT position, key FROM ${table} WHERE state = 'pending' AND due_at <= ${now} AND ${unclaimed}
          ORDER BY due_at, position LIMIT $3
        ) AS retried
        UNION ALL
        SELECT position, key FROM (
          SELECT position, key FROM ${table}
          WHERE state = 'pending' AND due_at IS NOT NULL AND attempts = 0 AND ${unclaimed}
            AND key ${anyOf(`SELECT item.value FROM ${elements('$4')} AS item`)}
          ORDER BY position LIMIT $3
        ) AS postponed
      ), looked_at AS (
        SELECT position FROM due
        UNION
        SELECT (
          SELECT position FROM ${table} AS earliest WHERE earliest.key = keys.key AND state = 'pending' ORDER BY position LIMIT 1
        ) AS position FROM (SELECT DISTINCT key FROM due WHERE key IS NOT NULL) AS keys
      ), locked AS (
        SELECT position, key FROM ${table}
        WHERE position ${anyOf('SELECT position FROM looked_at')} AND state = 'pending' AND ${unclaimed}
          AND (due_at IS NULL OR due_at <= ${now} OR attempts = 0)
        ORDER BY position LIMIT $3 ${skipLocked}
      ), judged AS MATERIALIZED (
        SELECT position, (
          SELECT ${greatest}(coalesce(earlier.due_at, 0), coalesce(${least}(earlier.claimed_until, ${now} + ${NAP_MS}), 0)) FROM ${table} AS earlier
          WHERE earlier.key = locked.key AND earlier.state = 'pending' AND earlier.position < locked.position
            AND earlier.position NOT IN (SELECT position FROM locked)
          ORDER BY earlier.position LIMIT 1
        ) AS waits_until FROM locked
      )
      UPDATE ${table} SET
        claimed_by = CASE WHEN waits_until IS NULL THEN CAST($1 AS text) END,
        claimed_until = CASE WHEN waits_until IS NULL THEN ${now} + CAST($2 AS bigint) END,
        due_at = CASE WHEN waits_until IS NULL THEN ${table}.due_at ELSE waits_until END
      FROM judged WHERE ${table}.position = judged.position AND (waits_until IS NULL OR waits_until > ${now})
      RETURNING ${table}.position, id, topic, key, payload, created_at, attempts, claimed_by, ${now} - created_at AS age`,
    renew: `UPDATE ${table} SET claimed_until = ${now} + CAST($2 AS bigint)
      WHERE position ${anyOf(`SELECT CAST(item.value AS bigint) FROM ${elements('$3')} AS item`)} AND claimed_by = $1`,
    remove: `DELETE FROM ${table} WHERE position ${positions}`,
    keep: `UPDATE ${table} SET state = 'delivered', settled_at = ${now}, claimed_by = NULL, claimed_until = NULL
      WHERE position ${positions}`,
    release: `UPDATE ${table} SET
        claimed_by = NULL, claimed_until = NULL,
        attempts = CAST(released.attempts AS integer),
        last_error = coalesce(released.error, last_error),
        due_at = CASE WHEN released.delay IS NULL THEN due_at ELSE ${now} + CAST(released.delay AS bigint) END,
        state = CASE WHEN released.dead = 'yes' THEN 'dead' ELSE state END,
        settled_at = CASE WHEN released.dead = 'yes' THEN ${now} END
      FROM (
        SELECT item.value ->> 'position' AS position, item.value ->> 'attempts' AS attempts, item.value ->> 'error' AS error,
          item.value ->> 'delay' AS delay, item.value ->> 'dead' AS dead
        FROM ${objects('$1')} AS item
      ) AS released
      WHERE ${table}.position = CAST(released.position AS bigint) AND claimed_by = $2
        AND ${table}.position ${anyOf(`SELECT CAST(item.value ->> 'position' AS bigint) FROM ${objects('$1')} AS item`)}`,
    sweep: `DELETE FROM ${table} WHERE position ${anyOf(
      `SELECT position FROM ${table} WHERE state = 'delivered' AND settled_at < ${now} - CAST($1 AS bigint)
       ORDER BY settled_at LIMIT $2`,
    )} RETURNING position`,
    measure: `SELECT fresh.count + delayed.count AS pending, dead.count AS dead, ${now} - least.created_at AS lag
      FROM (SELECT count(*) AS count FROM ${table} WHERE state = 'pending' AND due_at IS NULL) AS fresh,
        (SELECT count(*) AS count FROM ${table} WHERE state = 'pending' AND due_at IS NOT NULL) AS delayed,
        (SELECT count(*) AS count FROM ${table} WHERE state = 'dead') AS dead,
        (SELECT min(created_at) AS created_at FROM (
          SELECT * FROM (SELECT created_at FROM ${table} WHERE state = 'pending' AND due_at IS NULL ORDER BY position LIMIT 1) AS first
          UNION ALL SELECT created_at FROM ${table} WHERE state = 'pending' AND due_at IS NOT NULL
        ) AS ages) AS least`,
    deadLetters: `SELECT id, topic, key, payload, created_at, attempts, settled_at, last_error FROM ${table}
      WHERE state = 'dead' ORDER BY position LIMIT $1`,
    retry: `UPDATE ${table} ${revive} WHERE state = 'dead'
      AND id ${anyOf(`SELECT item.value FROM ${elements('$1')} AS item`)} RETURNING id`,
    retryAll: `UPDATE ${table} ${revive} WHERE state = 'dead' RETURNING id`,
  };
}
