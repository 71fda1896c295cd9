// @ts-check
// What histories are recorded of: every pool, every ORM on it, and plain drivers as the control.
import { Container, Registration, singleton } from '@ambit/container';
import { fromBetterSqlite3 } from '@ambit/drivers/better-sqlite3';
import { fromMysql2Pool } from '@ambit/drivers/mysql2';
import { fromNodeSqlite } from '@ambit/drivers/node-sqlite';
import { fromPgPool } from '@ambit/drivers/pg';
import { fromPostgresJs } from '@ambit/drivers/postgres-js';
import { runInTransaction } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { DatabaseSync } from 'node:sqlite';
import mysql from 'mysql2/promise';
import { Pool } from 'pg';
import postgres from 'postgres';
import {
  betterSqlite3Folder,
  openBetterSqlite3,
  plainBetterSqlite3,
  plainMysql2,
  plainNodeSqlite,
  plainPg,
} from './controls.mjs';
import { MUTANTS } from './mutants.mjs';

/**
 * @typedef {import('@ambit/transaction').IsolationLevel} IsolationLevel
 * @typedef {import('@ambit/transaction').IDatabasePool} IDatabasePool
 * @typedef {import('@ambit/transaction').IConnection} IConnection
 * @typedef {import('@ambit/container').IContainer} IContainer
 * @typedef {import('./databases.mjs').DatabaseName} DatabaseName
 */

/** @typedef {{ isolation: IsolationLevel, readOnly: boolean }} Terms */

/**
 * What the work of a transaction does with its list of elements, as text.
 *
 * @typedef {object} Session
 * @property {(key: number, text: string) => Promise<unknown>} append
 * @property {(key: number) => Promise<string>} read
 * @property {(work: (session: Session) => Promise<void>) => Promise<void>} nested a savepoint
 */

/**
 * @typedef {object} Subject
 * @property {(terms: Terms, work: (session: Session) => Promise<void>) => Promise<void>} transact the work runs again where a retry can help
 * @property {() => Promise<unknown>} close
 */

/** How long a transaction waits for a connection, on a machine that is busy with other work. */
const BUSY_MS = 30_000;

/** @param {string} address @param {number} [max] */
const openPostgres = (address, max = 5) =>
  createPostgresPool({ connectionString: address, max, acquireTimeoutMs: BUSY_MS, closeTimeoutMs: 2000 });

/** @param {string} address */
function openPostgresJs(address) {
  const url = new URL(address);
  const { searchParams } = url;
  const settings = Array.from((searchParams.get('options') ?? '').matchAll(/-c (\w+)=(\S+)/g), ([, name, value]) => [
    name,
    value,
  ]);
  const connection = { ...Object.fromEntries(settings), application_name: searchParams.get('application_name') ?? '' };
  url.search = '';
  const sql = postgres(url.href, { max: 5, connection, onnotice: () => {}, fetch_types: false });
  // Where a session is killed while postgres.js opens it, the driver may never give that connection.
  return fromPostgresJs(sql, { acquireTimeoutMs: 2000, closeTimeoutMs: 200 });
}

/** @param {string} address @param {number} [max] */
const openMysql2 = (address, max = 5) =>
  fromMysql2Pool(mysql.createPool({ uri: address, connectionLimit: max }), { max, acquireTimeoutMs: BUSY_MS });

/** @satisfies {Readonly<Record<string, { database: DatabaseName, open: (address: string, max?: number) => IDatabasePool }>>} */
const POOLS = {
  createPostgresPool: { database: 'PostgreSQL', open: openPostgres },
  fromPgPool: {
    database: 'PostgreSQL',
    open: (address) => fromPgPool(new Pool({ connectionString: address, max: 5 }), { acquireTimeoutMs: BUSY_MS }),
  },
  fromPostgresJs: { database: 'PostgreSQL', open: openPostgresJs },
  createSqlitePool: { database: 'SQLite', open: (path) => createSqlitePool({ path, acquireTimeoutMs: BUSY_MS }) },
  fromNodeSqlite: {
    database: 'SQLite',
    open: (path) => fromNodeSqlite(new DatabaseSync(path, { timeout: 0 }), { acquireTimeoutMs: BUSY_MS }),
  },
  ...(betterSqlite3Folder === undefined
    ? {}
    : {
        fromBetterSqlite3: {
          database: 'SQLite',
          open: (path) => fromBetterSqlite3(openBetterSqlite3(path), { acquireTimeoutMs: BUSY_MS }),
        },
      }),
  fromMysql2Pool: { database: 'MariaDB', open: openMysql2 },
};

/** The ORMs, and the databases that they are tried on. @type {Readonly<Record<string, readonly ('PostgreSQL' | 'SQLite')[]>>} */
const ORMS = {
  Kysely: ['PostgreSQL', 'SQLite'],
  Drizzle: ['PostgreSQL', 'SQLite'],
  Knex: ['PostgreSQL', 'SQLite'],
  TypeORM: ['PostgreSQL'],
  MikroORM: ['PostgreSQL', 'SQLite'],
};
const POOL_OF_ORMS = /** @type {const} */ ({ PostgreSQL: 'createPostgresPool', SQLite: 'createSqlitePool' });

/** @type {Readonly<Record<string, { database: DatabaseName, open: (address: string) => Subject }>>} */
const PLAIN = {
  pg: { database: 'PostgreSQL', open: plainPg },
  'node:sqlite': { database: 'SQLite', open: plainNodeSqlite },
  ...(betterSqlite3Folder === undefined ? {} : { 'better-sqlite3': { database: 'SQLite', open: plainBetterSqlite3 } }),
  mysql2: { database: 'MariaDB', open: plainMysql2 },
};

/**
 * @typedef {object} SubjectName
 * @property {string} name
 * @property {DatabaseName} database
 * @property {boolean} isControl a plain driver, without Ambit
 * @property {boolean} isOrm
 * @property {(address: string, mutant?: string) => Promise<Subject>} open
 */

/** @type {readonly SubjectName[]} */
export const SUBJECTS = [
  ...Object.entries(PLAIN).map(([name, { database, open }]) => ({
    name,
    database,
    isControl: true,
    isOrm: false,
    open: async (/** @type {string} */ address) => open(address),
  })),
  ...Object.entries(POOLS).map(([name, { database, open }]) => ({
    name,
    database,
    isControl: false,
    isOrm: false,
    open: async (/** @type {string} */ address, /** @type {string | undefined} */ mutant) => {
      // A mutant that uses the pool inside of a transaction takes two connections.
      const pool = open(address, mutant === undefined ? undefined : 12);
      return onPool(pool, (scope) => plainSession(scope, database), mutant);
    },
  })),
  ...Object.entries(ORMS).flatMap(([orm, databases]) =>
    databases.map((database) => ({
      name: `${orm} on ${POOL_OF_ORMS[database]}`,
      database,
      isControl: false,
      isOrm: true,
      open: async (/** @type {string} */ address) => {
        // They take seconds to load, which the process that checks does not need.
        const { openOrm } = await import('./orms.mjs');
        const pool = POOLS[POOL_OF_ORMS[database]].open(address);
        const { session, close } = await openOrm(orm, pool, database);
        const subject = onPool(pool, session);
        return { ...subject, close: async () => void (await close?.(), await subject.close()) };
      },
    })),
  ),
];

/**
 * @param {IDatabasePool} pool
 * @param {(scope: IContainer) => Session} sessionOf
 * @param {string} [mutantName]
 * @returns {Subject}
 */
function onPool(pool, sessionOf, mutantName) {
  const mutant = mutantName === undefined ? undefined : MUTANTS.find(({ name }) => name === mutantName);
  const container = new Container();
  container.addRegistration(
    Registration.fromFactory(() => mutant?.pool?.(pool) ?? pool)
      .pipe(singleton())
      .to('IDatabasePool'),
  );
  return {
    transact: ({ isolation, readOnly }, work) =>
      runInTransaction(
        container,
        (scope) => {
          const session = sessionOf(scope);
          return work(mutant?.session?.(session, pool) ?? session);
        },
        { isolation, readOnly, retries: 20, backoffMs: 1, onError: () => undefined },
      ),
    close: () => pool.close(),
  };
}

/**
 * Statements on the `IConnection` of a transaction scope.
 *
 * @param {IContainer} scope
 * @param {DatabaseName} database
 * @returns {Session}
 */
function plainSession(scope, database) {
  const connection = scope.resolve('IConnection');
  const appended = database === 'MariaDB' ? 'CONCAT(items, $1)' : 'items || $1';
  return {
    append: (key, text) => connection.query(`UPDATE lists SET items = ${appended} WHERE k = $2`, [text, key]),
    read: async (key) => String((await connection.query('SELECT items FROM lists WHERE k = $1', [key]))[0]?.['items']),
    nested: (work) => runInTransaction(scope, (inner) => work(plainSession(inner, database))),
  };
}
