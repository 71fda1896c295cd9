import { createMariadbDatabase } from './databases/mariadb.mjs';
import { createPostgresDatabase } from './databases/postgres.mjs';
import { createSqliteDatabase } from './databases/sqlite.mjs';

/** @typedef {'postgres' | 'sqlite' | 'mariadb'} DatabaseKind */
/** @typedef {Record<string, string | number>} Row */

/**
 * @typedef {object} Session of a server
 * @property {number} thread the system's number of what works for it
 * @property {() => Promise<unknown>} kill
 *
 * @typedef {object} Place a database of the service, and how it is reached directly, not through the service
 * @property {DatabaseKind} kind
 * @property {boolean} isEmbedded in the process of the service: it then has one instance, and one writes at a time
 * @property {Record<string, string>} env the environment that makes the service use it
 * @property {(sql: string, params?: (string | number)[]) => Promise<Row[]>} query
 * @property {(max: number) => import('@ambit/transaction').DatabasePool} createPool with at most so many connections
 * @property {() => Promise<Session[]>} sessions those of the service
 *
 * @typedef {Place & { drop: () => Promise<void> }} Database an empty one, for one run
 * @typedef {Pick<Place, 'query'>} Stored what is stored, wherever it is
 */

/** On the servers of the tests; SQLite has a folder of its own. @type {Readonly<Record<DatabaseKind, () => Promise<Database>>>} */
const CREATE = { postgres: createPostgresDatabase, sqlite: createSqliteDatabase, mariadb: createMariadbDatabase };

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
