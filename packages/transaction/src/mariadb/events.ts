import type { IConnection, IDatabasePool, IPooledConnection } from '../contract.js';
import { isRetryable } from '../sql-state.js';
import { type Claim, type ClaimedRow, type EventTable, NAP_MS, type Wanted } from '../databases/events.js';
import { runOnPool } from '../databases/run-on-pool.js';
import { splitStatements } from '../sql/split-statements.js';
import { NOW } from './language.js';

const TEXT = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';
const UNCLAIMED = `(claimed_until IS NULL OR claimed_until < ${NOW})`;
/** An event that waits for an earlier one has no failures. */
const IS_DUE = `(due_at IS NULL OR due_at <= ${NOW} OR attempts = 0)`;
/** How many keys can have a turn of their own: a row for each that is used. */
const TURNS = 2 ** 20;
/** The number of dead letters that are made pending in one statement. */
const BATCH_SIZE = 10_000;
/** In Galera, where the claims of two nodes meet at COMMIT. */
const ATTEMPTS = 3;

/** A FROM item over a JSON array of numbers. */
const positionsIn = (parameter: string): string =>
  `JSON_TABLE(${parameter}, '$[*]' COLUMNS (position bigint PATH '$'))`;

/** The same over one of texts. */
const textsIn = (parameter: string): string =>
  `JSON_TABLE(${parameter}, '$[*]' COLUMNS (value varchar(255) ${TEXT} PATH '$'))`;

interface Located {
  readonly position: number;
}

/** An event that may be claimed, if those before it may be, too. */
interface Candidate extends Located {
  /** The first event of its key, where that may be claimed. */
  readonly earliest: number | null;
  /** Until when it has to wait, where the first event of its key may not be claimed. */
  readonly waits_until: number | null;
}

interface OwnRow extends ClaimedRow, Located {
  readonly position: number;
}

/** The first event of a key that is not among those that were claimed. */
interface Rest {
  readonly key: string;
  readonly position: number | null;
}

/**
 * MariaDB, in words that MySQL 8 has, too. It has no RETURNING after an UPDATE, so some operations are several statements; but for
 * `publish()` each of them is a transaction of its own, so nothing stays locked when a process stops between two of them. All
 * find the rows that they write by the primary key: a search by another index would lock the gaps in which others publish.
 */
export function eventTable(table: string): EventTable {
  const turns = `${table}_turns`;
  // Left to itself, the server reads the whole table by its primary key where few events are pending: that spares it a sort.
  const byTime = `${table} FORCE INDEX (by_time)`;
  const byKey = `${table} FORCE INDEX (by_key)`;
  const schema = `CREATE TABLE IF NOT EXISTS ${turns} (
  turn integer PRIMARY KEY,
  taken bigint NOT NULL
) ENGINE = InnoDB;
CREATE TABLE ${table} (
  position bigint AUTO_INCREMENT PRIMARY KEY,
  id varchar(36) NOT NULL,
  topic varchar(255) NOT NULL,
  \`key\` varchar(255),
  payload longtext NOT NULL,
  created_at bigint NOT NULL,
  state varchar(9) NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead')),
  attempts integer NOT NULL DEFAULT 0,
  due_at bigint,
  claimed_by varchar(36),
  claimed_until bigint,
  settled_at bigint,
  last_error text,
  INDEX by_time (state, due_at),
  INDEX by_key (\`key\`, state),
  INDEX settled (state, settled_at)
) ENGINE = InnoDB ${TEXT};
`;
  const eventsAt = (parameter: string): string =>
    `${positionsIn(parameter)} AS item STRAIGHT_JOIN ${table} AS event ON event.position = item.position`;
  const ofKey = (what: string): string =>
    `(SELECT ${what} FROM ${table} AS earliest FORCE INDEX (by_key) WHERE earliest.\`key\` = due.\`key\` AND state = 'pending' ORDER BY position LIMIT 1)`;
  const insert = `INSERT INTO ${table} (id, topic, \`key\`, payload, created_at) VALUES ($1, $2, $3, $4, ${NOW})`;
  // The row is locked until COMMIT and before the event gets its position, so of two events with one key the lower position commits
  // first. It is written, and not only locked, because the nodes of a Galera cluster compare nothing but what was written.
  const takeTurn = `INSERT INTO ${turns} (turn, taken) VALUES (CRC32(CONVERT($1 USING utf8mb4)) % ${TURNS}, 1)
      ON DUPLICATE KEY UPDATE taken = taken + 1`;
  const candidates = `SELECT due.position, ${ofKey(`CASE WHEN ${UNCLAIMED} AND ${IS_DUE} THEN position END`)} AS earliest,
        ${ofKey(`CASE WHEN NOT (${UNCLAIMED} AND ${IS_DUE})
          THEN GREATEST(COALESCE(due_at, 0), COALESCE(LEAST(claimed_until, ${NOW} + ${NAP_MS}), 0)) END`)} AS waits_until
      FROM (
        (SELECT position, \`key\` FROM ${byTime} WHERE state = 'pending' AND due_at IS NULL AND ${UNCLAIMED}
         ORDER BY position LIMIT $1)
        UNION ALL
        (SELECT position, \`key\` FROM ${byTime} WHERE state = 'pending' AND due_at <= ${NOW} AND ${UNCLAIMED}
         ORDER BY due_at, position LIMIT $1)
        UNION ALL
        (SELECT position, \`key\` FROM ${textsIn('$2')} AS item STRAIGHT_JOIN ${byKey} ON \`key\` = item.value
         WHERE state = 'pending' AND due_at IS NOT NULL AND attempts = 0 AND ${UNCLAIMED}
         ORDER BY position LIMIT $1)
      ) AS due`;
  const take = `UPDATE JSON_TABLE($3, '$[*]' COLUMNS (position bigint PATH '$[0]', waits_until bigint PATH '$[1]')) AS item
      STRAIGHT_JOIN ${table} AS event ON event.position = item.position
      SET claimed_by = CASE WHEN waits_until IS NULL THEN $1 END,
        claimed_until = CASE WHEN waits_until IS NULL THEN ${NOW} + $2 END,
        due_at = COALESCE(waits_until, due_at)
      WHERE state = 'pending' AND ${UNCLAIMED} AND ${IS_DUE}`;
  const taken = `SELECT event.position, id, topic, \`key\`, payload, created_at, attempts, ${NOW} - created_at AS age
      FROM ${eventsAt('$2')} WHERE state = 'pending' AND claimed_by = $1`;
  const rests = `SELECT event.\`key\`, (
        SELECT position FROM ${table} AS other FORCE INDEX (by_key) WHERE other.\`key\` = event.\`key\` AND state = 'pending'
          AND position NOT IN (SELECT position FROM ${positionsIn('$1')} AS claimed)
        ORDER BY position LIMIT 1
      ) AS position
      FROM ${eventsAt('$2')}`;
  const unclaim = `UPDATE ${eventsAt('$2')} SET claimed_by = NULL, claimed_until = NULL WHERE claimed_by = $1`;
  const remove = `DELETE event FROM ${eventsAt('$1')}`;
  const old = `SELECT position FROM ${table} FORCE INDEX (settled) WHERE state = 'delivered' AND settled_at < ${NOW} - $1 ORDER BY settled_at LIMIT $2`;
  const dead = `SELECT position FROM ${byTime} WHERE state = 'dead'`;
  const deadOf = `${dead} AND id IN (SELECT value FROM ${textsIn('$1')} AS item)`;
  const revive = `UPDATE ${eventsAt('$1')}
      SET state = 'pending', attempts = 0, due_at = NULL, settled_at = NULL WHERE state = 'dead'`;

  async function claimOnce(connection: IPooledConnection, { relay, claimMs, limit, keys }: Wanted): Promise<Claim> {
    const found = await connection.query<Candidate>(candidates, [limit, JSON.stringify(keys)]);
    const chosen = firstOf(found, limit);
    if (chosen.length === 0) return { claimed: [], postponed: 0 };
    await connection.query(take, [relay, claimMs, JSON.stringify(chosen)]);
    const positions = chosen.filter(([, waitsUntil]) => waitsUntil === null).map(([position]) => position);
    const rows = await connection.query<OwnRow>(taken, [relay, JSON.stringify(positions)]);
    const oneOfEach = [...new Map(rows.filter(({ key }) => key !== null).map((row) => [row.key, row])).values()];
    const others =
      oneOfEach.length > 0 ? await connection.query<Rest>(rests, [positionsOf(rows), positionsOf(oneOfEach)]) : [];
    const { claimed, behindOthers } = divide(rows, others);
    if (behindOthers.length > 0) await connection.query(unclaim, [relay, JSON.stringify(behindOthers)]);
    return { claimed, postponed: chosen.length - positions.length };
  }

  return {
    name: table,
    schema,
    sql: {
      renew: `UPDATE ${eventsAt('$3')} SET claimed_until = ${NOW} + $2 WHERE claimed_by = $1`,
      remove,
      keep: `UPDATE ${eventsAt('$1')} SET state = 'delivered', settled_at = ${NOW}, claimed_by = NULL, claimed_until = NULL`,
      release: `UPDATE JSON_TABLE($1, '$[*]' COLUMNS (
          position bigint PATH '$.position', attempts integer PATH '$.attempts', error text ${TEXT} PATH '$.error',
          delay bigint PATH '$.delay', dead varchar(3) ${TEXT} PATH '$.dead'
        )) AS released STRAIGHT_JOIN ${table} AS event ON event.position = released.position
        SET event.claimed_by = NULL, event.claimed_until = NULL,
          event.attempts = released.attempts,
          event.last_error = COALESCE(released.error, event.last_error),
          event.due_at = CASE WHEN released.dead = 'yes' THEN NULL ELSE COALESCE(${NOW} + released.delay, event.due_at) END,
          event.state = CASE WHEN released.dead = 'yes' THEN 'dead' ELSE event.state END,
          event.settled_at = CASE WHEN released.dead = 'yes' THEN ${NOW} END
        WHERE event.claimed_by = $2`,
      measure: `SELECT fresh.events + postponed.events AS pending, dead.events AS dead, ${NOW} - oldest.created_at AS lag
        FROM (SELECT COUNT(*) AS events FROM ${byTime} WHERE state = 'pending' AND due_at IS NULL) AS fresh,
          (SELECT COUNT(*) AS events FROM ${byTime} WHERE state = 'pending' AND due_at IS NOT NULL) AS postponed,
          (SELECT COUNT(*) AS events FROM ${byTime} WHERE state = 'dead') AS dead,
          (SELECT MIN(created_at) AS created_at FROM (
            (SELECT created_at FROM ${byTime} WHERE state = 'pending' AND due_at IS NULL ORDER BY position LIMIT 1)
            UNION ALL (SELECT created_at FROM ${byTime} WHERE state = 'pending' AND due_at IS NOT NULL)
          ) AS ages) AS oldest`,
      deadLetters: `SELECT id, topic, \`key\`, payload, created_at, attempts, settled_at, last_error FROM ${byTime}
        WHERE state = 'dead' ORDER BY due_at, position LIMIT $1`,
    },
    // The server commits each CREATE TABLE by itself; the first may be there from a run that was interrupted before the second.
    async create(pool) {
      for (const statement of splitStatements(schema)) await pool.query(statement);
    },
    publish(database, { id, topic, key, payload }) {
      if (key === undefined) return database.query(insert, [id, topic, null, payload]);
      const publishInTurn = async (connection: Pick<IConnection, 'query'>): Promise<void> => {
        await connection.query(takeTurn, [key]);
        await connection.query(insert, [id, topic, key, payload]);
      };
      // A pool would commit the turn before the event is stored. With a snapshot for the whole transaction, MariaDB 11.6 and newer would
      // refuse a turn for which it has waited.
      return isPool(database)
        ? runOnPool(database, publishInTurn, { isolation: 'read committed' })
        : publishInTurn(database);
    },
    async claim(pool, wanted) {
      for (let left = ATTEMPTS - 1; ; left -= 1) {
        const connection = await pool.getConnection();
        try {
          return await claimOnce(connection, wanted);
        } catch (error) {
          if (left === 0 || !isRetryable(error)) throw error;
        } finally {
          connection.release();
        }
      }
    },
    async sweep(pool, keepMs, limit) {
      const rows = await pool.query<Located>(old, [keepMs, limit]);
      if (rows.length > 0) await pool.query(remove, [positionsOf(rows)]);
      return rows.length;
    },
    async retry(pool, ids) {
      const [text, params] = ids === 'all' ? [dead, []] : [deadOf, [JSON.stringify(ids)]];
      const rows = await pool.query<Located>(text, params);
      for (let start = 0; start < rows.length; start += BATCH_SIZE)
        await pool.query(revive, [positionsOf(rows.slice(start, start + BATCH_SIZE))]);
      return rows.length;
    },
  };
}

const positionsOf = (rows: readonly Located[]): string => JSON.stringify(rows.map(({ position }) => position));

/** The first of what was found, each with the time until which it has to wait, or with null where it may be claimed. */
function firstOf(found: readonly Candidate[], limit: number): [position: number, waitsUntil: number | null][] {
  const all = new Map<number, number | null>();
  for (const { position, earliest, waits_until: waitsUntil } of found) {
    all.set(position, waitsUntil);
    if (earliest !== null) all.set(earliest, null);
  }
  return [...all].toSorted(([a], [b]) => a - b).slice(0, limit);
}

/** Events behind one of their key that another relay has claimed meanwhile are not to be delivered now. */
function divide(rows: readonly OwnRow[], others: readonly Rest[]): { claimed: OwnRow[]; behindOthers: number[] } {
  const firstOthers = new Map(others.map(({ key, position }) => [key, position ?? Infinity]));
  const isFirst = ({ key, position }: OwnRow): boolean =>
    key === null || position < (firstOthers.get(key) ?? -Infinity);
  return {
    claimed: rows.filter(isFirst),
    behindOthers: rows.filter((row) => !isFirst(row)).map(({ position }) => position),
  };
}

function isPool(
  database: Pick<IConnection, 'query'>,
): database is Pick<IDatabasePool, 'getConnection'> & Pick<IConnection, 'query'> {
  return 'getConnection' in database;
}
