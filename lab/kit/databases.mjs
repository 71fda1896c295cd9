import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { openMariadbDatabase, openPostgresDatabase } from '@ambit/test-kit';
import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import { temporaryFolder } from './program.mjs';
import { DatabaseSync } from './sqlite.mjs';

/** @typedef {'postgres' | 'sqlite' | 'mariadb'} DatabaseKind */
/** @typedef {Record<string, string | number>} Row */
/** @typedef {(sql: string, params?: (string | number)[]) => Promise<Row[]>} Query on a connection of its own */

/**
 * @typedef {{ kill: () => Promise<unknown> }} Session of a server
 *
 * @typedef {object} Place a database of the service, and how it is reached directly, not through the service
 * @property {DatabaseKind} kind
 * @property {Record<string, string>} env the environment that makes the service use it
 * @property {Query} query
 * @property {() => Promise<Session[]>} sessions those of the service
 *
 * @typedef {Place & { drop: () => Promise<void> }} Database an empty one, for one run
 * @typedef {Pick<Place, 'query'>} Stored what is stored, wherever it is
 */

const BUSY_MS = 60_000;
const POSTGRES_SESSIONS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'ambit-service'`;
const MARIADB_SESSIONS = `SELECT id FROM information_schema.processlist
  WHERE db = DATABASE() AND id <> CONNECTION_ID()`;

/** On the servers of the tests; SQLite has a folder of its own. @type {Readonly<Record<DatabaseKind, () => Promise<Database>>>} */
const CREATE = {
  postgres: async () => {
    const database = await openPostgresDatabase();
    return { ...postgresAt(database.url), drop: () => database.drop() };
  },
  sqlite: async () => {
    const folder = temporaryFolder('sqlite');
    const path = join(folder, 'ambit.db');
    return {
      kind: 'sqlite',
      env: { DATA_DIR: folder },
      query: sqliteQuery(path),
      sessions: async () => [],
      drop: async () => rmSync(folder, { recursive: true, force: true }),
    };
  },
  mariadb: async () => {
    const database = await openMariadbDatabase();
    return { ...mariadbAt(database.url()), drop: () => database.drop() };
  },
};

export const DATABASES = /** @type {readonly DatabaseKind[]} */ (Object.keys(CREATE));

/** @param {DatabaseKind} kind */
export function createDatabase(kind) {
  return CREATE[kind]();
}

/**
 * Drops the database afterwards, also when the run fails.
 * @template T
 * @param {DatabaseKind} kind
 * @param {(database: Database) => Promise<T>} run
 */
export async function withDatabase(kind, run) {
  const database = await createDatabase(kind);
  try {
    return await run(database);
  } finally {
    await database.drop();
  }
}

/** @param {string} url @returns {Place} */
export function postgresAt(url) {
  const query = postgresQuery(url);
  return {
    kind: 'postgres',
    env: { DATABASE_URL: url },
    query,
    sessions: async () =>
      (await query(POSTGRES_SESSIONS)).map(({ pid = 0 }) => ({
        kill: () => query('SELECT pg_terminate_backend($1)', [pid]),
      })),
  };
}

/** @param {string} url @returns {Place} */
export function mariadbAt(url) {
  const query = mariadbQuery(url);
  return {
    kind: 'mariadb',
    env: { DATABASE_URL: url },
    query,
    sessions: async () => (await query(MARIADB_SESSIONS)).map(({ id }) => ({ kill: () => query(`KILL ${id}`) })),
  };
}

/** @param {string} url @returns {Query} */
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

/**
 * @param {string | import('mysql2/promise').ConnectionOptions} address
 * @param {(sql: string) => string | undefined} [first] a statement that is to come before it
 * @returns {Query}
 */
export function mariadbQuery(address, first) {
  const options = typeof address === 'string' ? { uri: address.replace(/^mariadb:/, 'mysql:') } : address;
  return async (sql, params = []) => {
    const connection = await createConnection(options);
    // When the database restarts, the waiting query rejects as well.
    connection.on('error', () => undefined);
    try {
      const before = first?.(sql);
      if (before !== undefined) await connection.query(before);
      const values = Array.from(sql.matchAll(/\$(\d+)/g), ([, number]) => params[Number(number) - 1]);
      const [rows] = await connection.query(sql.replaceAll(/\$\d+/g, '?'), values);
      return Array.isArray(rows) ? /** @type {Row[]} */ (rows) : [];
    } finally {
      connection.destroy();
    }
  };
}

/** @param {string} file @returns {Query} */
function sqliteQuery(file) {
  return async (sql, params = []) => {
    const database = new DatabaseSync(file, { timeout: BUSY_MS });
    try {
      const statement = database.prepare(sql.replaceAll(/\$(\d+)/g, '?$1'));
      return /** @type {Row[]} */ (statement.all(.../** @type {string[]} */ (params)));
    } finally {
      database.close();
    }
  };
}
