import { randomUUID } from 'node:crypto';
import type { IDatabasePool } from '@ambit/transaction';
import type { OutboxEvent } from './outbox.js';
import type { OutboxDialect, OutboxTable } from './schema.js';

/** An event that this relay, and no other, may deliver now. */
export interface Claimed {
  readonly position: number;
  readonly event: OutboxEvent;
  /** When it was published, by the clock of this process. */
  readonly publishedAt: number;
}

/** What becomes of an event that was not delivered. */
export interface Released {
  readonly position: number;
  /** How often it has failed. */
  readonly attempts: number;
  readonly error?: string;
  /** In how many milliseconds it may be tried again. */
  readonly delay?: number;
  readonly dead?: 'yes';
}

export interface Backlog {
  readonly pending: number;
  readonly dead: number;
  /** The age of the oldest event that is pending, in milliseconds. */
  readonly lag: number;
}

interface ClaimedRow {
  readonly position: number | string;
  readonly id: string;
  readonly topic: string;
  readonly key: string | null;
  readonly payload: string;
  readonly created_at: number | string;
  readonly attempts: number | string;
  readonly claimed_by: string | null;
  readonly age: number | string;
}

/** The table as one relay sees it. */
export class Store {
  readonly #pool: Pick<IDatabasePool, 'query'>;
  readonly #sql: Statements;
  /** Its name in the table: another process that takes over a claim has another one. */
  readonly #relay: string = randomUUID();
  readonly #claimMs: number;

  constructor(pool: Pick<IDatabasePool, 'query'>, sql: Statements, claimMs: number) {
    this.#pool = pool;
    this.#sql = sql;
    this.#claimMs = claimMs;
  }

  /**
   * Claims events, in the order in which they were published. `keys` are those of events that this relay has settled since
   * the last claim. `isMore` says that others may be due: `limit` was reached, maybe by events that wait for an earlier one.
   */
  async claim(limit: number, keys: readonly string[]): Promise<{ claimed: Claimed[]; isMore: boolean }> {
    const params = [this.#relay, this.#claimMs, limit, JSON.stringify(keys)];
    const rows = await this.#pool.query<ClaimedRow>(this.#sql.claim, params);
    const now = performance.now();
    const claimed = rows
      .filter(({ claimed_by: by }) => by === this.#relay)
      .map((row) => ({ position: Number(row.position), event: eventOf(row), publishedAt: now - Number(row.age) }))
      .toSorted((a, b) => a.position - b.position);
    return { claimed, isMore: rows.length >= limit };
  }

  async renew(positions: readonly number[]): Promise<void> {
    await this.#pool.query(this.#sql.renew, [this.#relay, this.#claimMs, JSON.stringify(positions)]);
  }

  async delivered(positions: readonly number[], keep: boolean): Promise<void> {
    await this.#pool.query(keep ? this.#sql.keep : this.#sql.remove, [JSON.stringify(positions)]);
  }

  /** Does nothing to an event that another relay has claimed meanwhile. */
  async release(released: readonly Released[]): Promise<void> {
    await this.#pool.query(this.#sql.release, [JSON.stringify(released), this.#relay]);
  }

  /** Deletes what was delivered so long ago. Returns whether there may be more. */
  async sweep(keepMs: number, limit: number): Promise<boolean> {
    return (await this.#pool.query(this.#sql.sweep, [keepMs, limit])).length === limit;
  }

  async measure(): Promise<Backlog> {
    const [row] = await this.#pool.query<{ pending: unknown; dead: unknown; lag: unknown }>(this.#sql.measure);
    return { pending: Number(row?.pending ?? 0), dead: Number(row?.dead ?? 0), lag: Number(row?.lag ?? 0) };
  }
}

function eventOf({ id, topic, key, payload, created_at: createdAt, attempts }: ClaimedRow): OutboxEvent {
  return {
    id,
    topic,
    key: key ?? undefined,
    payload: JSON.parse(payload) as unknown,
    createdAt: new Date(Number(createdAt)),
    attempt: Number(attempts) + 1,
  };
}

/** Everything in which the statements differ between the two databases. */
interface Sql {
  /** Milliseconds since 1970, by the clock of the database: that of the processes may differ. */
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

const SQL: Readonly<Record<OutboxDialect, Sql>> = {
  postgres: {
    now: 'CAST(extract(epoch FROM statement_timestamp()) * 1000 AS bigint)',
    elements: (parameter) => `json_array_elements_text(CAST(${parameter} AS json))`,
    objects: (parameter) => `json_array_elements(CAST(${parameter} AS json))`,
    greatest: 'greatest',
    least: 'least',
    skipLocked: 'FOR UPDATE SKIP LOCKED',
    anyOf: (query) => `= ANY (ARRAY(${query}))`,
  },
  sqlite: {
    now: "CAST(unixepoch('subsec') * 1000 AS integer)",
    elements: (parameter) => `json_each(${parameter})`,
    objects: (parameter) => `json_each(${parameter})`,
    greatest: 'max',
    least: 'min',
    skipLocked: '',
    anyOf: (query) => `IN (${query})`,
  },
};

/**
 * An event that waits for one that is being delivered is looked at again after so long, unless the relay that settled that one
 * does so at once.
 */
const NAP_MS = 1000;

/** The texts of all statements, for one table. Pools recognize statements by their text, so there is one text for each. */
export interface Statements {
  /** `$1` id, `$2` topic, `$3` key, `$4` payload. */
  readonly publish: string;
  readonly publishWithoutKey: string;
  /** `$1` the relay, `$2` for how long, `$3` how many, `$4` a JSON array of keys whose events may have been postponed. */
  readonly claim: string;
  /** `$1` the relay, `$2` for how long, `$3` a JSON array of positions. */
  readonly renew: string;
  /** `$1` a JSON array of positions. */
  readonly remove: string;
  readonly keep: string;
  /** `$1` a JSON array of `Released`, `$2` the relay. */
  readonly release: string;
  /** `$1` for how long delivered events are kept, `$2` how many at a time. */
  readonly sweep: string;
  readonly measure: string;
  /** `$1` how many. */
  readonly deadLetters: string;
  /** `$1` a JSON array of ids. */
  readonly retry: string;
  readonly retryAll: string;
}

export function statementsFor({ dialect, table }: Required<OutboxTable>): Statements {
  const { now, elements, objects, greatest, least, skipLocked, anyOf } = SQL[dialect];
  const positions = anyOf(`SELECT CAST(item.value AS bigint) FROM ${elements('$1')} AS item`);
  const unclaimed = `(claimed_until IS NULL OR claimed_until < ${now})`;
  const revive = `SET state = 'pending', attempts = 0, due_at = NULL, settled_at = NULL`;
  const insert = (source: string): string =>
    `INSERT INTO ${table} (id, topic, key, payload, created_at) SELECT $1, $2, $3, $4, ${now}${source}`;
  return {
    // The lock is held until COMMIT and taken before the position, so of two events with one key the lower position commits first.
    publish:
      dialect === 'sqlite'
        ? insert('')
        : `WITH turn AS MATERIALIZED (
             SELECT pg_advisory_xact_lock(hashtextextended($3, CAST(CAST('${table}' AS regclass) AS bigint)))
           ) ${insert(' FROM turn')}`,
    publishWithoutKey: `INSERT INTO ${table} (id, topic, payload, created_at) VALUES ($1, $2, $3, ${now})`,
    // An event is claimed together with all earlier ones of its key, or postponed until the first of those may be claimed.
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
