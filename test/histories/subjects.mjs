// @ts-check
// The subjects of the histories: every pool, and every ORM on it.
import { Container, Registration, singleton } from '@ambit/container';
import { fromBetterSqlite3 } from '@ambit/drivers/better-sqlite3';
import { fromMysql2Pool } from '@ambit/drivers/mysql2';
import { fromNodeSqlite } from '@ambit/drivers/node-sqlite';
import { fromPgPool } from '@ambit/drivers/pg';
import { fromPGlite } from '@ambit/drivers/pglite';
import { fromPostgresJs } from '@ambit/drivers/postgres-js';
import { runInTransaction } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createReplicatedPool } from '@ambit/transaction/replicas';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { PGlite } from '@electric-sql/pglite';
import { createRequire } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import mysql from 'mysql2/promise';
import { Pool } from 'pg';
import postgres from 'postgres';

/**
 * @typedef {import('@ambit/transaction').IsolationLevel} IsolationLevel
 * @typedef {import('@ambit/transaction').IDatabasePool} IDatabasePool
 * @typedef {import('@ambit/transaction').IConnection} IConnection
 * @typedef {import('@ambit/container').IContainer} IContainer
 * @typedef {import('./databases.mjs').DatabaseName} DatabaseName
 */

/** @typedef {{ isolation: IsolationLevel, readOnly: boolean }} Terms */

/**
 * What the work of a transaction does with its lists of elements, as text, and with the rows beside them.
 *
 * @typedef {object} Session
 * @property {(key: number, text: string) => Promise<unknown>} append
 * @property {(key: number) => Promise<string>} read
 * @property {(key: number, element: number) => Promise<unknown>} insert
 * @property {(first: number, last: number) => Promise<number[]>} select the elements of the rows with these keys, and those between
 * @property {(work: (session: Session) => Promise<void>) => Promise<void>} nested a savepoint
 */

/**
 * @typedef {object} Subject
 * @property {(terms: Terms, work: (session: Session) => Promise<void>) => Promise<void>} transact the work runs again where a retry can help
 * @property {() => Promise<unknown>} close
 */

/** It has no types of its own, and another name here, because TypeORM wants an older one if any. */
const BetterSqlite3 = createRequire(import.meta.url)('better-sqlite3-13');

/** How long a transaction waits for a connection, on a machine that is busy with other work. */
const BUSY_MS = 30_000;

/** @param {string} address */
const openPostgres = (address) =>
  createPostgresPool({ connectionString: address, max: 5, acquireTimeoutMs: BUSY_MS, closeTimeoutMs: 2000 });

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

/** @param {string} address */
const openMysql2 = (address) =>
  fromMysql2Pool(mysql.createPool({ uri: address, connectionLimit: 5 }), { max: 5, acquireTimeoutMs: BUSY_MS });

/** By the function that makes each. @satisfies {Readonly<Record<string, { from: string, database: DatabaseName, open: (address: string) => IDatabasePool | Promise<IDatabasePool> }>>} */
const POOLS = {
  createPostgresPool: { from: '@ambit/transaction/postgres', database: 'PostgreSQL', open: openPostgres },
  createReplicatedPool: {
    from: '@ambit/transaction/replicas',
    database: 'PostgreSQL',
    // A standby that has been promoted may serve no reads: they have to come from the primary. Those of a standby are older by design.
    open: (address) =>
      createReplicatedPool({
        primary: openPostgres(address),
        replicas: [openPostgres(address)],
        replicaTimeoutMs: BUSY_MS,
      }),
  },
  fromPgPool: {
    from: '@ambit/drivers/pg',
    database: 'PostgreSQL',
    open: (address) => fromPgPool(new Pool({ connectionString: address, max: 5 }), { acquireTimeoutMs: BUSY_MS }),
  },
  fromPostgresJs: { from: '@ambit/drivers/postgres-js', database: 'PostgreSQL', open: openPostgresJs },
  fromPGlite: {
    from: '@ambit/drivers/pglite',
    database: 'PGlite',
    open: async (folder) => fromPGlite(await PGlite.create(folder), { acquireTimeoutMs: BUSY_MS }),
  },
  createSqlitePool: {
    from: '@ambit/transaction/sqlite',
    database: 'SQLite',
    open: (path) => createSqlitePool({ path, acquireTimeoutMs: BUSY_MS }),
  },
  fromNodeSqlite: {
    from: '@ambit/drivers/node-sqlite',
    database: 'SQLite',
    open: (path) => fromNodeSqlite(new DatabaseSync(path, { timeout: 0 }), { acquireTimeoutMs: BUSY_MS }),
  },
  fromBetterSqlite3: {
    from: '@ambit/drivers/better-sqlite3',
    database: 'SQLite',
    open: (path) => fromBetterSqlite3(new BetterSqlite3(path, { timeout: 0 }), { acquireTimeoutMs: BUSY_MS }),
  },
  fromMysql2Pool: { from: '@ambit/drivers/mysql2', database: 'MariaDB', open: openMysql2 },
};

/** Each ORM on each database that it has an adapter for. @type {readonly { name: string, from: string, database: 'PostgreSQL' | 'SQLite' | 'MariaDB' }[]} */
const ORMS = [
  { name: 'Kysely', from: '@ambit/orm/kysely', database: 'PostgreSQL' },
  { name: 'Kysely', from: '@ambit/orm/kysely', database: 'SQLite' },
  { name: 'Kysely', from: '@ambit/orm/kysely', database: 'MariaDB' },
  { name: 'Drizzle', from: '@ambit/orm/drizzle', database: 'PostgreSQL' },
  { name: 'Drizzle', from: '@ambit/orm/drizzle/sqlite', database: 'SQLite' },
  { name: 'Knex', from: '@ambit/orm/knex', database: 'PostgreSQL' },
  { name: 'Knex', from: '@ambit/orm/knex', database: 'SQLite' },
  { name: 'TypeORM', from: '@ambit/orm/typeorm', database: 'PostgreSQL' },
  { name: 'MikroORM', from: '@ambit/orm/mikro-orm', database: 'PostgreSQL' },
  { name: 'MikroORM', from: '@ambit/orm/mikro-orm', database: 'SQLite' },
  { name: 'MikroORM', from: '@ambit/orm/mikro-orm', database: 'MariaDB' },
  { name: 'Prisma', from: '@ambit/orm/prisma', database: 'PostgreSQL' },
  { name: 'node-postgres', from: '@ambit/orm/pg', database: 'PostgreSQL' },
];
const POOL_OF_ORMS = /** @type {const} */ ({
  PostgreSQL: 'createPostgresPool',
  SQLite: 'createSqlitePool',
  MariaDB: 'fromMysql2Pool',
});

/**
 * @typedef {object} SubjectName
 * @property {string} name
 * @property {string} [from] where the pool or the adapter of the ORM is imported from
 * @property {DatabaseName} database
 * @property {boolean} isOrm
 * @property {(address: string) => Promise<Subject>} open
 */

/** @type {readonly SubjectName[]} */
export const SUBJECTS = [
  ...Object.entries(POOLS).map(([name, { from, database, open }]) => ({
    name,
    from,
    database,
    isOrm: false,
    open: async (/** @type {string} */ address) =>
      onPool(await open(address), (scope) => plainSession(scope, database)),
  })),
  ...ORMS.map(({ name: orm, from, database }) => ({
    name: `${orm} on ${POOL_OF_ORMS[database]}`,
    from,
    database,
    isOrm: true,
    open: async (/** @type {string} */ address) => {
      // They take seconds to load, which the process that checks does not need.
      const { openOrm } = await import('./orms.mjs');
      const pool = POOLS[POOL_OF_ORMS[database]].open(address);
      const { session, close } = await openOrm(orm, pool, database, address);
      const subject = onPool(pool, session);
      return { ...subject, close: async () => void (await close?.(), await subject.close()) };
    },
  })),
];

/**
 * @param {IDatabasePool} pool
 * @param {(scope: IContainer) => Session} sessionOf
 * @returns {Subject}
 */
function onPool(pool, sessionOf) {
  const container = new Container();
  container.addRegistration(
    Registration.fromFactory(() => pool)
      .pipe(singleton())
      .to('IDatabasePool'),
  );
  return {
    transact: ({ isolation, readOnly }, work) =>
      runInTransaction(container, (scope) => work(sessionOf(scope)), {
        isolation,
        readOnly,
        retries: 20,
        backoffMs: 1,
        onError: () => undefined,
      }),
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
  /** @param {string} sql @param {unknown[]} values @returns {Promise<any[]>} */
  const query = (sql, values) => connection.query(sql, values);
  return {
    append: (key, text) => query(`UPDATE lists SET items = ${appended} WHERE k = $2`, [text, key]),
    read: async (key) => (await query('SELECT items FROM lists WHERE k = $1', [key]))[0].items,
    insert: (key, element) => query('INSERT INTO members (element, k) VALUES ($1, $2)', [element, key]),
    select: async (first, last) => {
      const rows = await query('SELECT element FROM members WHERE k BETWEEN $1 AND $2', [first, last]);
      return rows.map((row) => Number(row.element));
    },
    nested: (work) => runInTransaction(scope, (inner) => work(plainSession(inner, database))),
  };
}
