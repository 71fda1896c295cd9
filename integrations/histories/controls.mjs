// @ts-check
// What the histories of our pools are compared with: transactions on a plain driver, with hand-written BEGIN, COMMIT and savepoints.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
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
 * @property {(sql: string, values?: unknown[]) => Promise<any>} send
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
 * @param {Plain} connection
 * @param {{ append: string, read: string }} sql
 * @param {(result: any) => string} itemsOf
 * @returns {Session}
 */
function plainSession(connection, sql, itemsOf, depth = 1) {
  return {
    append: (key, text) => connection.send(sql.append, [text, key]),
    read: async (key) => itemsOf(await connection.send(sql.read, [key])),
    nested: async (work) => {
      await connection.send(`SAVEPOINT s${depth}`);
      try {
        await work(plainSession(connection, sql, itemsOf, depth + 1));
      } catch (error) {
        // After a deadlock, MariaDB has rolled back the whole transaction already.
        await connection.send(`ROLLBACK TO SAVEPOINT s${depth}`).catch(() => undefined);
        throw error;
      }
      await connection.send(`RELEASE SAVEPOINT s${depth}`);
    },
  };
}

/** @param {string} address @returns {Subject} */
export function plainPg(address) {
  const pool = new Pool({ connectionString: address, max: 5 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => void client.on('error', () => undefined));
  const sql = {
    append: 'UPDATE lists SET items = items || $1 WHERE k = $2',
    read: 'SELECT items FROM lists WHERE k = $1',
  };
  /** @returns {Promise<Plain>} */
  const connect = async () => {
    const client = await pool.connect();
    return {
      begin: ({ isolation, readOnly }) =>
        client.query(`BEGIN ISOLATION LEVEL ${isolation} READ ${readOnly ? 'ONLY' : 'WRITE'}`),
      send: (text, values) => client.query(text, values),
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
      (connection) => plainSession(connection, sql, ({ rows }) => rows[0].items),
    ),
    close: () => pool.end(),
  };
}

/** @param {string} address @returns {Subject} */
export function plainMysql2(address) {
  const pool = mysql.createPool({ uri: address, connectionLimit: 5 });
  const sql = {
    append: 'UPDATE lists SET items = CONCAT(items, ?) WHERE k = ?',
    read: 'SELECT items FROM lists WHERE k = ?',
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
      (connection) => plainSession(connection, sql, ([row]) => row.items),
    ),
    close: () => pool.end(),
  };
}

/** @param {string} address @returns {Subject} */
export function plainNodeSqlite(address) {
  return plainSqlite(new DatabaseSync(address, { timeout: 0 }));
}

/** The folder in which better-sqlite3 is installed for this Node: it has to be compiled. */
export const betterSqlite3Folder = process.env['BETTER_SQLITE3'];

/** @param {string} address */
export function openBetterSqlite3(address) {
  const Database = createRequire(join(betterSqlite3Folder ?? '', 'package.json'))('better-sqlite3');
  return new Database(address, { timeout: 0 });
}

/** @param {string} address @returns {Subject} */
export function plainBetterSqlite3(address) {
  return plainSqlite(openBetterSqlite3(address));
}

/** @param {DatabaseSync} database @returns {Subject} */
function plainSqlite(database) {
  const sql = {
    append: 'UPDATE lists SET items = items || ? WHERE k = ?',
    read: 'SELECT items FROM lists WHERE k = ?',
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
      send: async (text, values) =>
        values ? database.prepare(text).all(.../** @type {any[]} */ (values)) : database.exec(text),
      commit: async () => database.exec('COMMIT'),
      release: () => resolve(undefined),
    };
  };
  /** better-sqlite3 refuses `all()` for what gives no rows. @param {Plain} connection @returns {Plain} */
  const withRun = (connection) => ({
    ...connection,
    send: async (text, values) =>
      values && text === sql.append
        ? database.prepare(text).run(.../** @type {any[]} */ (values))
        : connection.send(text, values),
  });
  return {
    transact: transactions(connect, isBusy, (connection) =>
      plainSession(withRun(connection), sql, ([row]) => row.items),
    ),
    close: async () => database.close(),
  };
}
