// @ts-check
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { openProxy, openSchema, postgresUrl } from '@ambit/test-kit';
import { DatabaseSync } from 'node:sqlite';
import mysql from 'mysql2/promise';

/**
 * An empty database for histories: a list for each key, as text, and a table of rows that have a key.
 * @typedef {object} Database
 * @property {string} address for the workers
 * @property {(keys: readonly number[]) => Promise<unknown>} reset
 * @property {() => Promise<Stored>} readAll everything, past all pools
 * @property {() => Promise<unknown>} [kill] the server ends a random session of the workers
 * @property {() => Promise<boolean>} [isQuiet] no worker has a session that is still doing something
 * @property {() => Promise<void>} drop
 */

/** @typedef {'PostgreSQL' | 'PGlite' | 'SQLite' | 'MariaDB'} DatabaseName */
/** @typedef {{ lists: { k: number, items: string }[], members: { element: number, k: number }[] }} Stored */

const TABLES = `
  CREATE TABLE lists (k INTEGER PRIMARY KEY, items TEXT NOT NULL);
  CREATE TABLE members (element INTEGER PRIMARY KEY, k INTEGER NOT NULL);
  CREATE INDEX members_k ON members (k);
`;
const LISTS = 'SELECT k, items FROM lists';
const MEMBERS = 'SELECT element, k FROM members';
const EMPTY = 'DELETE FROM members; DELETE FROM lists';
const mariadbUrl = process.env['MARIADB_URL'] ?? 'mariadb://root@127.0.0.1:3306';

/** @param {readonly number[]} keys */
const insertOf = (keys) => `INSERT INTO lists (k, items) VALUES ${keys.map((key) => `(${key}, '')`).join(', ')}`;

/** @type {Readonly<Record<DatabaseName, () => Promise<Database>>>} */
export const DATABASES = { PostgreSQL: openPostgres, PGlite: openPGlite, SQLite: openSqlite, MariaDB: openMariadb };

/** @returns {Promise<Database>} */
async function openPostgres() {
  const schema = await openSchema();
  const { admin } = schema;
  await admin.query(TABLES);
  const address = new URL(schema.url());
  // A deadlock is found at once, and a lock that is kept does not stop the run.
  address.searchParams.set(
    'options',
    `${address.searchParams.get('options')} -c deadlock_timeout=10ms -c lock_timeout=10s`,
  );
  const name = `histories ${process.pid} ${Math.random()}`;
  address.searchParams.set('application_name', name);
  const sessions = 'FROM pg_stat_activity WHERE application_name = $1';
  return {
    address: address.href,
    reset: async (keys) => void (await admin.query(`TRUNCATE lists, members; ${insertOf(keys)}`)),
    readAll: async () => ({ lists: (await admin.query(LISTS)).rows, members: (await admin.query(MEMBERS)).rows }),
    kill: () => admin.query(`SELECT pg_terminate_backend(pid) ${sessions} ORDER BY random() LIMIT 1`, [name]),
    isQuiet: async () => (await admin.query(`SELECT 1 ${sessions}`, [name])).rowCount === 0,
    drop: () => schema.drop(),
  };
}

/** A folder for the one process that has it open. @returns {Promise<Database>} */
async function openPGlite() {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  /** @template T @param {(database: PGlite) => Promise<T>} work */
  const opened = async (work) => {
    const database = await PGlite.create(folder);
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  };
  await opened((database) => database.exec(TABLES));
  return {
    address: folder,
    reset: (keys) => opened((database) => database.exec(`TRUNCATE lists, members; ${insertOf(keys)}`)),
    readAll: () =>
      opened(async (database) => {
        const [lists, members] = /** @type {any[]} */ (await database.exec(`${LISTS}; ${MEMBERS}`));
        return { lists: lists.rows, members: members.rows };
      }),
    drop: async () => rmSync(folder, { recursive: true }),
  };
}

/** @returns {Promise<Database>} */
async function openSqlite() {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  const address = join(folder, 'test.db');
  // Nobody else has the file open while the processes work, so after both were killed the next to open it has to recover it.
  /** @template T @param {(database: DatabaseSync) => T} work */
  const opened = (work) => {
    const database = new DatabaseSync(address, { timeout: 5000 });
    try {
      return work(database);
    } finally {
      database.close();
    }
  };
  opened((database) => database.exec(`PRAGMA journal_mode = WAL; ${TABLES}`));
  return {
    address,
    reset: async (keys) => opened((database) => database.exec(`${EMPTY}; ${insertOf(keys)}`)),
    readAll: async () =>
      opened((database) => {
        const { integrity_check: integrity } = database.prepare('PRAGMA integrity_check').get() ?? {};
        if (integrity !== 'ok') throw new Error(`The file is damaged: ${String(integrity)}`);
        const [lists, members] = [LISTS, MEMBERS].map((sql) => /** @type {any} */ (database.prepare(sql).all()));
        return { lists, members };
      }),
    drop: async () => rmSync(folder, { recursive: true }),
  };
}

/** @returns {Promise<Database>} */
async function openMariadb() {
  const name = `ambit_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const admin = await mysql.createConnection({ uri: mariadbUrl, multipleStatements: true });
  await admin.query(`CREATE DATABASE ${name}; USE ${name}; ${TABLES}`);
  /** @returns {Promise<number[]>} */
  const sessions = async () => {
    const sql = 'SELECT id FROM information_schema.processlist WHERE db = ? AND id <> CONNECTION_ID() ORDER BY RAND()';
    const [rows] = /** @type {any} */ (await admin.query(sql, [name]));
    return rows.map((/** @type {{ id: number }} */ { id }) => id);
  };
  return {
    address: `${mariadbUrl}/${name}`,
    reset: async (keys) => void (await admin.query(`${EMPTY}; ${insertOf(keys)}`)),
    readAll: async () => {
      const [[lists, members]] = /** @type {any} */ (await admin.query(`${LISTS}; ${MEMBERS}`));
      return { lists, members };
    },
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
