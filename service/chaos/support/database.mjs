import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import { Client } from 'pg';

const MAIN = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';
const BUSY_MS = 10_000;

/** @typedef {'postgres' | 'sqlite'} DatabaseKind */
/** @typedef {Record<string, string | number>} Row */

/**
 * @typedef {object} Database an empty one, for one run
 * @property {DatabaseKind} kind
 * @property {Record<string, string>} env the environment that makes the service use it
 * @property {(sql: string, params?: (string | number)[]) => Promise<Row[]>} query directly, not through the service
 * @property {() => Promise<void>} drop
 */

/** @param {DatabaseKind} kind */
export function createDatabase(kind) {
  return kind === 'postgres' ? createPostgresDatabase() : createSqliteDatabase();
}

/**
 * Drops the database afterwards, also when the run fails.
 * @param {DatabaseKind} kind
 * @param {(database: Database) => Promise<void>} run
 */
export async function withDatabase(kind, run) {
  const database = await createDatabase(kind);
  try {
    await run(database);
  } finally {
    await database.drop();
  }
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

let made = 0;

/** @returns {Promise<Database>} */
async function createPostgresDatabase() {
  const main = postgresQuery(MAIN);
  const name = `ambit_chaos_${process.pid}_${++made}`;
  const url = new URL(MAIN);
  url.pathname = name;
  await main(`CREATE DATABASE ${name}`);
  return {
    kind: 'postgres',
    env: { DATABASE_URL: url.href },
    query: postgresQuery(url.href),
    drop: async () => void (await main(`DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

/** @returns {Promise<Database>} */
async function createSqliteDatabase() {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-sqlite-'));
  return {
    kind: 'sqlite',
    env: { DATA_DIR: folder },
    query: sqliteQuery(join(folder, 'ambit.db')),
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

/**
 * @param {string} file
 * @returns {Database['query']} on its own connection
 */
export function sqliteQuery(file) {
  return async (sql, params = []) => {
    const database = new Libsql(file);
    try {
      database.pragma(`busy_timeout = ${BUSY_MS}`);
      const statement = database.prepare(sql.replaceAll(/\$(\d+)/g, '?$1'));
      if (statement.reader) return /** @type {Row[]} */ (statement.all(...params));
      statement.run(...params);
      return [];
    } finally {
      database.close();
    }
  };
}
