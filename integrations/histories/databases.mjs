// @ts-check
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openProxy, openSchema, postgresUrl } from '@ambit/host-contract';
import { DatabaseSync } from 'node:sqlite';
import mysql from 'mysql2/promise';

/**
 * An empty database for histories: a list for each key, as text.
 * @typedef {object} Database
 * @property {string} address for the workers
 * @property {(keys: readonly number[]) => Promise<void>} reset
 * @property {() => Promise<Map<number, string>>} readAll every list, past all pools
 * @property {() => Promise<unknown>} [kill] the server ends a random session of the workers
 * @property {() => Promise<boolean>} [isQuiet] no worker has a session that is still doing something
 * @property {() => Promise<void>} drop
 */

/** @typedef {'PostgreSQL' | 'SQLite' | 'MariaDB'} DatabaseName */

const TABLE = 'CREATE TABLE lists (k INTEGER PRIMARY KEY, items TEXT NOT NULL)';
const mysqlUrl = process.env['MYSQL_URL'] ?? 'mysql://root@127.0.0.1:3306';

/** @param {readonly number[]} keys */
const insertOf = (keys) => `INSERT INTO lists (k, items) VALUES ${keys.map((key) => `(${key}, '')`).join(', ')}`;

/** @param {readonly { k: number, items: string }[]} rows */
const listsOf = (rows) => new Map(rows.map(({ k, items }) => [k, items]));

/** @type {Readonly<Record<DatabaseName, () => Promise<Database>>>} */
export const DATABASES = { PostgreSQL: openPostgres, SQLite: openSqlite, MariaDB: openMariadb };

/** @returns {Promise<Database>} */
async function openPostgres() {
  const schema = await openSchema();
  const { admin } = schema;
  await admin.query(TABLE);
  const address = new URL(schema.url());
  // A deadlock is found at once, and a mutant that keeps a lock does not stop the run.
  address.searchParams.set(
    'options',
    `${address.searchParams.get('options')} -c deadlock_timeout=10ms -c lock_timeout=10s`,
  );
  const name = `histories ${process.pid} ${Math.random()}`;
  address.searchParams.set('application_name', name);
  const sessions = 'FROM pg_stat_activity WHERE application_name = $1';
  return {
    address: address.href,
    reset: async (keys) => void (await admin.query(`TRUNCATE lists; ${insertOf(keys)}`)),
    readAll: async () => listsOf((await admin.query('SELECT k, items FROM lists')).rows),
    kill: () => admin.query(`SELECT pg_terminate_backend(pid) ${sessions} ORDER BY random() LIMIT 1`, [name]),
    isQuiet: async () => (await admin.query(`SELECT 1 ${sessions}`, [name])).rowCount === 0,
    drop: () => schema.drop(),
  };
}

/** @returns {Promise<Database>} */
async function openSqlite() {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  const address = join(folder, 'test.db');
  const database = new DatabaseSync(address, { timeout: 5000 });
  database.exec(`PRAGMA journal_mode = WAL; ${TABLE}`);
  return {
    address,
    reset: async (keys) => database.exec(`DELETE FROM lists; ${insertOf(keys)}`),
    readAll: async () => listsOf(/** @type {any} */ (database.prepare('SELECT k, items FROM lists').all())),
    drop: async () => {
      database.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** @returns {Promise<Database>} */
async function openMariadb() {
  const name = `ambit_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const admin = await mysql.createConnection({ uri: mysqlUrl, multipleStatements: true });
  await admin.query(`CREATE DATABASE ${name}; USE ${name}; ${TABLE}`);
  /** @returns {Promise<number[]>} */
  const sessions = async () => {
    const sql = 'SELECT id FROM information_schema.processlist WHERE db = ? AND id <> CONNECTION_ID() ORDER BY RAND()';
    const [rows] = /** @type {any} */ (await admin.query(sql, [name]));
    return rows.map((/** @type {{ id: number }} */ { id }) => id);
  };
  return {
    address: `${mysqlUrl}/${name}`,
    reset: async (keys) => void (await admin.query(`DELETE FROM lists; ${insertOf(keys)}`)),
    readAll: async () => listsOf(/** @type {any} */ (await admin.query('SELECT k, items FROM lists'))[0]),
    // The session may have ended by itself.
    kill: async () => admin.query(`KILL ${(await sessions())[0] ?? 0}`).catch(() => undefined),
    isQuiet: async () => (await sessions()).length === 0,
    drop: async () => {
      await admin.query(`DROP DATABASE ${name}`);
      await admin.end();
    },
  };
}

/**
 * The database behind a proxy that breaks one COMMIT in thirty, before or after the server sees it.
 *
 * @param {Database} database
 * @param {() => number} random
 */
export async function behindFaults({ address }, random) {
  const url = new URL(address);
  const proxy = await openProxy({ host: url.hostname, port: Number(url.port) || Number(new URL(postgresUrl).port) });
  let broken = 0;
  proxy.faultAt = (message) => {
    if (!/\bCOMMIT\b/i.test(message) || random() > 1 / 30) return 'none';
    broken += 1;
    return random() < 0.5 ? 'before' : 'after';
  };
  url.host = `127.0.0.1:${proxy.port}`;
  return { address: url.href, broken: () => broken, close: () => proxy.close() };
}
