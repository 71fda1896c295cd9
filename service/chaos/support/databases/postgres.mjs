import { openPostgresDatabase } from '@ambit/host-contract';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { Client } from 'pg';

/** @typedef {import('../database.mjs').Database} Database */
/** @typedef {import('../database.mjs').Place} Place */

const SESSIONS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'ambit-service'`;

/** @returns {Promise<Database>} */
export async function createPostgresDatabase() {
  const database = await openPostgresDatabase();
  return { ...postgresAt(database.url), drop: () => database.drop() };
}

/**
 * @param {string} url
 * @returns {Place}
 */
export function postgresAt(url) {
  const query = postgresQuery(url);
  return {
    kind: 'postgres',
    isEmbedded: false,
    env: { DATABASE_URL: url },
    query,
    createPool: (max) => createPostgresPool({ connectionString: url, max }),
    sessions: async () =>
      (await query(SESSIONS)).map(({ pid = 0 }) => ({
        thread: Number(pid),
        kill: () => query('SELECT pg_terminate_backend($1)', [pid]),
      })),
  };
}

/**
 * @param {string} url
 * @returns {Database['query']} on its own connection
 */
export function postgresQuery(url) {
  return async (sql, params = []) => {
    const client = new Client({ connectionString: url });
    // When the database restarts, the waiting query rejects as well.
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(sql, params)).rows;
    } finally {
      await client.end();
    }
  };
}
