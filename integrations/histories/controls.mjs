// @ts-check
// What the histories of our pools are compared with: transactions on a plain driver, with hand-written BEGIN, COMMIT and savepoints.
import { createRequire } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { PGlite } from '@electric-sql/pglite';
import mysql from 'mysql2/promise';
import { Pool } from 'pg';

/**
 * @typedef {import('./subjects.mjs').Session} Session
 * @typedef {import('./subjects.mjs').Subject} Subject
 * @typedef {import('./subjects.mjs').Terms} Terms
 */

const RETRIES = 20;

/** The response to COMMIT was lost. */
export class UnknownOutcome extends Error {}

/**
 * A plain driver, as far as it takes: one connection, which sends SQL.
 *
 * @typedef {object} Plain
 * @property {(terms: Terms) => Promise<unknown>} begin
 * @property {(sql: string, values?: unknown[]) => Promise<any>} send resolves to the rows of a SELECT
 * @property {() => Promise<unknown>} commit throws `UnknownOutcome` where its response was lost
 * @property {(isBroken: boolean) => unknown} release
 */

/**
 * @param {() => Promise<Plain>} connect
 * @param {(error: any) => boolean} canRetry
 * @param {(connection: Plain) => Session} sessionOn
 * @returns {Subject['transact']}
 */
function transactions(connect, canRetry, sessionOn) {
  return async (terms, work) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once(await connect(), terms, (connection) => work(sessionOn(connection)));
      } catch (error) {
        if (attempt > RETRIES || !canRetry(error)) throw error;
        await setTimeout(Math.random() * 2 * attempt);
      }
    }
  };
}

/**
 * @param {Plain} connection
 * @param {Terms} terms
 * @param {(connection: Plain) => Promise<void>} work
 */
async function once(connection, terms, work) {
  let isBroken = true;
  try {
    await connection.begin(terms);
    try {
      await work(connection);
    } catch (error) {
      await connection.send('ROLLBACK');
      isBroken = false;
      throw error;
    }
    await connection.commit();
    isBroken = false;
  } finally {
    await connection.release(isBroken);
  }
}

/**
 * @typedef {{ append: string, read: string, insert: string, select: string }} Statements
 *
 * @param {Pick<Plain, 'send'>} connection
 * @param {Statements} sql
 * @returns {Session}
 */
function plainSession(connection, sql, depth = 1) {
  return {
    append: (key, text) => connection.send(sql.append, [text, key]),
    read: async (key) => (await connection.send(sql.read, [key]))[0].items,
    insert: (key, element) => connection.send(sql.insert, [element, key]),
    select: async (first, last) =>
      (await connection.send(sql.select, [first, last])).map((/** @type {{ element: number }} */ row) => row.element),
    nested: async (work) => {
      await connection.send(`SAVEPOINT s${depth}`);
      try {
        await work(plainSession(connection, sql, depth + 1));
      } catch (error) {
        // After a deadlock, MariaDB has rolled back the whole transaction already.
        await connection.send(`ROLLBACK TO SAVEPOINT s${depth}`).catch(() => undefined);
        throw error;
      }
      await connection.send(`RELEASE SAVEPOINT s${depth}`);
    },
  };
}

/** @type {Statements} */
const ON_POSTGRES = {
  append: 'UPDATE lists SET items = items || $1 WHERE k = $2',
  read: 'SELECT items FROM lists WHERE k = $1',
  insert: 'INSERT INTO members (element, k) VALUES ($1, $2)',
  select: 'SELECT element FROM members WHERE k BETWEEN $1 AND $2',
};

/** @param {string} address @returns {Subject} */
export function plainPg(address) {
  const pool = new Pool({ connectionString: address, max: 5 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => void client.on('error', () => undefined));
  /** @returns {Promise<Plain>} */
  const connect = async () => {
    const client = await pool.connect();
    return {
      begin: ({ isolation, readOnly }) =>
        client.query(`BEGIN ISOLATION LEVEL ${isolation} READ ${readOnly ? 'ONLY' : 'WRITE'}`),
      send: async (text, values) => (await client.query(text, values)).rows,
      commit: async () => {
        const { command } = await client.query('COMMIT').catch((/** @type {unknown} */ error) => {
          const { code } = /** @type {{ code?: string }} */ (error);
          throw /^(?!08|57P|XX)\w{5}$/.test(code ?? '') ? error : new UnknownOutcome('COMMIT', { cause: error });
        });
        if (command !== 'COMMIT') throw new Error(`COMMIT was a ${command}`);
      },
      release: (isBroken) => client.release(isBroken),
    };
  };
  return {
    transact: transactions(
      connect,
      ({ code }) => code === '40001' || code === '40P01',
      (connection) => plainSession(connection, ON_POSTGRES),
    ),
    close: () => pool.end(),
  };
}

/** Each `transaction()` has the one connection to itself. @param {string} address @returns {Promise<Subject>} */
export async function plainPGlite(address) {
  const database = await PGlite.create(address);
  return {
    transact: ({ isolation, readOnly }, work) =>
      database.transaction(async (transaction) => {
        await transaction.exec(`SET TRANSACTION ISOLATION LEVEL ${isolation} READ ${readOnly ? 'ONLY' : 'WRITE'}`);
        /** @type {Plain['send']} */
        const send = async (text, values) => (await transaction.query(text, values)).rows;
        await work(plainSession({ send }, ON_POSTGRES));
      }),
    close: () => database.close(),
  };
}

/** @param {string} address @returns {Subject} */
export function plainMysql2(address) {
  const pool = mysql.createPool({ uri: address, connectionLimit: 5 });
  const sql = {
    append: 'UPDATE lists SET items = CONCAT(items, ?) WHERE k = ?',
    read: 'SELECT items FROM lists WHERE k = ?',
    insert: 'INSERT INTO members (element, k) VALUES (?, ?)',
    select: 'SELECT element FROM members WHERE k BETWEEN ? AND ?',
  };
  /** @returns {Promise<Plain>} */
  const connect = async () => {
    const connection = await pool.getConnection();
    return {
      begin: async ({ isolation, readOnly }) => {
        await connection.query(`SET TRANSACTION ISOLATION LEVEL ${isolation}`);
        await connection.query(`START TRANSACTION READ ${readOnly ? 'ONLY' : 'WRITE'}`);
      },
      send: async (text, values) => (await connection.query(text, values))[0],
      commit: () =>
        connection.query('COMMIT').catch((/** @type {unknown} */ error) => {
          const { fatal } = /** @type {{ fatal?: boolean }} */ (error);
          throw fatal ? new UnknownOutcome('COMMIT', { cause: error }) : error;
        }),
      release: (isBroken) => (isBroken ? connection.destroy() : connection.release()),
    };
  };
  return {
    transact: transactions(
      connect,
      ({ errno }) => errno === 1213 || errno === 1205,
      (connection) => plainSession(connection, sql),
    ),
    close: () => pool.end(),
  };
}

/** @param {string} address @returns {Subject} */
export function plainNodeSqlite(address) {
  return plainSqlite(new DatabaseSync(address, { timeout: 0 }));
}

/** It has no types of its own, and another name here, because TypeORM wants an older one if any. */
const BetterSqlite3 = createRequire(import.meta.url)('better-sqlite3-13');

/** @param {string} address */
export const openBetterSqlite3 = (address) => new BetterSqlite3(address, { timeout: 0 });

/** @param {string} address @returns {Subject} */
export function plainBetterSqlite3(address) {
  return plainSqlite(openBetterSqlite3(address));
}

/** @param {DatabaseSync} database @returns {Subject} */
function plainSqlite(database) {
  const sql = {
    append: 'UPDATE lists SET items = items || ? WHERE k = ?',
    read: 'SELECT items FROM lists WHERE k = ?',
    insert: 'INSERT INTO members (element, k) VALUES (?, ?)',
    select: 'SELECT element FROM members WHERE k BETWEEN ? AND ?',
  };
  // There is one connection in this process, for one transaction at a time.
  /** @type {Promise<unknown>} */
  let last = Promise.resolve();
  /** @param {any} error */
  const isBusy = (error) => /locked|busy/i.test(error.message);
  /** @param {string} text */
  const whenFree = async (text) => {
    for (;;) {
      try {
        return database.exec(text);
      } catch (error) {
        if (!isBusy(error)) throw error;
        await setTimeout(Math.random() * 2);
      }
    }
  };
  /** @returns {Promise<Plain>} */
  const connect = async () => {
    const { promise, resolve } = Promise.withResolvers();
    const before = last;
    last = promise;
    await before;
    return {
      begin: ({ readOnly }) => whenFree(readOnly ? 'BEGIN' : 'BEGIN IMMEDIATE'),
      // better-sqlite3 refuses `all()` for what gives no rows.
      send: async (text, values) =>
        database.prepare(text)[text.startsWith('SELECT') ? 'all' : 'run'](.../** @type {any[]} */ (values ?? [])),
      commit: async () => database.exec('COMMIT'),
      release: () => resolve(undefined),
    };
  };
  return {
    transact: transactions(connect, isBusy, (connection) => plainSession(connection, sql)),
    close: async () => database.close(),
  };
}
