import { setTimeout as sleep } from 'node:timers/promises';
import type { IConnection } from '../contract.js';
import { sqlStateOf } from '../sql-state.js';
import { BATCH_SIZE, type KeyTable } from '../databases/keys.js';
import { runOnPool } from '../databases/run-on-pool.js';
import { NOW } from './language.js';

const LOCK_NOT_AVAILABLE = '55P03';
const DEADLOCK = '40001';
const RETRIES = 3;
const PAUSE_MS = 10;

interface OldKey {
  readonly key: string;
  readonly created_at: number | string;
}

/**
 * `key` is a reserved word here, so it is quoted. Each statement locks single rows by their key, and never a gap between keys: there
 * another request would wait to store a new one.
 */
export function keyTable(table: string): KeyTable {
  const name = table.slice(table.indexOf('.') + 1);
  // It waits for no other transaction: of several that wait for one, all but one would be a deadlock when that rolls back. IGNORE
  // makes nothing of a key that is known, and locks its row so that others can read it.
  const insert = `SET STATEMENT innodb_lock_wait_timeout = 0 FOR
      INSERT IGNORE INTO ${table} (\`key\`, fingerprint, created_at) VALUES ($1, $2, ${NOW}) RETURNING 1 AS inserted`;
  // This transaction holds the lock of the row already, so the statement waits for nobody.
  const isExpired = `SELECT 1 AS expired FROM ${table} WHERE \`key\` = $1 AND created_at <= ${NOW} - $2 LOCK IN SHARE MODE`;
  // Another request that takes it over has read the row as well: one of the two is the victim of a deadlock at once.
  const takeOver = `SET STATEMENT innodb_lock_wait_timeout = 1 FOR
      UPDATE ${table} SET fingerprint = $2, status = NULL, headers = NULL, body = NULL, created_at = ${NOW} WHERE \`key\` = $1`;
  const oldest = `SELECT \`key\`, created_at FROM ${table} WHERE created_at >= $1 AND created_at <= ${NOW} - $2
      ORDER BY created_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED`;
  const parameters = Array.from({ length: BATCH_SIZE }, (_, index) => `$${index + 1}`);
  // The server would rather read all rows of a small table, and lock them.
  const remove = `DELETE old FROM ${table} AS old FORCE INDEX (PRIMARY) WHERE old.key IN (${parameters.join()})`;

  return {
    schema: `CREATE TABLE ${table} (
  \`key\` varchar(512) PRIMARY KEY,
  fingerprint varchar(64) NOT NULL,
  status integer,
  body mediumtext,
  created_at bigint NOT NULL,
  headers mediumtext,
  KEY ${name}_by_age (created_at)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
`,
    async insert(connection, { key, fingerprint, lifetimeMs }) {
      if (await isInserted(connection, insert, [key, fingerprint])) return true;
      const [expired] = await connection.query(isExpired, [key, lifetimeMs]);
      if (!expired) return false;
      await connection.query(takeOver, [key, fingerprint]);
      return true;
    },
    // It locks the row again, and so reads one that is newer than the snapshot of this transaction.
    find: `SELECT fingerprint, status, headers, body FROM ${table} WHERE \`key\` = $1 LOCK IN SHARE MODE`,
    keep: `UPDATE ${table} SET status = $2, headers = $3, body = $4 WHERE \`key\` = $1`,
    async remove(pool, after, lifetimeMs) {
      const removeOldest = async (connection: Pick<IConnection, 'query'>): Promise<number[]> => {
        const old = await connection.query<OldKey>(oldest, [after, lifetimeMs]);
        if (old.length > 0) await connection.query(remove, filledUp(old.map(({ key }) => key)));
        return old.map(({ created_at: createdAt }) => Number(createdAt));
      };
      for (let attempt = 1; ; attempt += 1) {
        try {
          // The one level of InnoDB at which a search by age locks no gap, so that new keys can be stored meanwhile.
          return await runOnPool(pool, removeOldest, { isolation: 'read committed' });
        } catch (error) {
          // This DELETE and transactions that store neighbouring rows may deadlock: then nothing was removed.
          if (sqlStateOf(error) !== DEADLOCK || attempt > RETRIES) throw error;
          await sleep(attempt * PAUSE_MS);
        }
      }
    },
  };
}

/**
 * Tries again: while a row beside it is rolled back or removed, its place is locked for a moment. A key that another transaction has is
 * locked for longer. The savepoint and the INSERT are queued together, and the pause is behind the rollback, so no other statement of
 * the transaction is undone.
 */
async function isInserted(
  connection: Pick<IConnection, 'query'>,
  insert: string,
  row: readonly unknown[],
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const [, rows] = await Promise.all([connection.query('SAVEPOINT ambit_key'), connection.query(insert, row)]);
      return rows.length > 0;
    } catch (error) {
      if (sqlStateOf(error) !== LOCK_NOT_AVAILABLE || attempt > RETRIES) throw error;
      // With innodb_rollback_on_timeout the server has undone the whole transaction, and the savepoint with it.
      await connection.query('ROLLBACK TO SAVEPOINT ambit_key').catch(() => {
        throw error;
      });
    }
    await sleep(attempt * PAUSE_MS);
  }
}

/** The last key again and again: pools recognize statements by their text, which has the parameters of a whole batch. */
function filledUp(keys: readonly string[]): (string | undefined)[] {
  return Array.from({ length: BATCH_SIZE }, (_, index) => keys[index] ?? keys.at(-1));
}
