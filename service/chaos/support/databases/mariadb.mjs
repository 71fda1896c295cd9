import { mariadbPool, openMariadbDatabase } from '@ambit/host-contract';
import { createConnection } from 'mysql2/promise';

/** @typedef {import('../database.mjs').Database} Database */
/** @typedef {import('../database.mjs').Place} Place */

const SESSIONS = `SELECT id, tid FROM information_schema.processlist
  WHERE db = DATABASE() AND id <> CONNECTION_ID()`;

/** @returns {Promise<Database>} */
export async function createMariadbDatabase() {
  const database = await openMariadbDatabase();
  return { ...mariadbAt(database.url()), drop: () => database.drop() };
}

/**
 * @param {string} url
 * @returns {Place}
 */
export function mariadbAt(url) {
  const query = mariadbQuery(url);
  return {
    kind: 'mariadb',
    isEmbedded: false,
    env: { DATABASE_URL: url },
    query,
    createPool: (max) => mariadbPool(url, { max }),
    sessions: async () =>
      (await query(SESSIONS)).map(({ id, tid }) => ({ thread: Number(tid), kill: () => query(`KILL ${id}`) })),
  };
}

/**
 * @param {string} url
 * @returns {Database['query']} on its own connection
 */
export function mariadbQuery(url) {
  const uri = url.replace(/^mariadb:/, 'mysql:');
  return async (sql, params = []) => {
    const connection = await createConnection({ uri });
    // When the database restarts, the waiting query rejects as well.
    connection.on('error', () => undefined);
    try {
      const values = Array.from(sql.matchAll(/\$(\d+)/g), ([, number]) => params[Number(number) - 1]);
      const [rows] = await connection.query(sql.replaceAll(/\$\d+/g, '?'), values);
      return Array.isArray(rows) ? /** @type {import('../database.mjs').Row[]} */ (rows) : [];
    } finally {
      connection.destroy();
    }
  };
}
