// @ts-check
// The same list, appended to and read with the means of each ORM and query builder.
import { drizzleOn } from '@ambit/orm/drizzle';
import { drizzleOn as drizzleOnSqlite } from '@ambit/orm/drizzle/sqlite';
import { knexOn } from '@ambit/orm/knex';
import { kyselyOn } from '@ambit/orm/kysely';
import { mikroOrmDialect, mikroOrmOn } from '@ambit/orm/mikro-orm';
import { pgClientOn } from '@ambit/orm/pg';
import { typeormDriver, typeormOn } from '@ambit/orm/typeorm';
import { defineEntity, LockMode, p } from '@mikro-orm/core';
import { MySqlDriver } from '@mikro-orm/mysql';
import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { MikroORM, SqliteDriver } from '@mikro-orm/sql';
import { between, eq, sql as drizzleSql } from 'drizzle-orm';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import { integer as sqliteInteger, sqliteTable, text as sqliteText } from 'drizzle-orm/sqlite-core';
import { sql as kyselySql } from 'kysely';
import { Between, DataSource, EntitySchema } from 'typeorm';

/**
 * @typedef {import('./subjects.mjs').Session} Session
 * @typedef {import('./databases.mjs').DatabaseName} DatabaseName
 * @typedef {import('@ambit/transaction').IDatabasePool} IDatabasePool
 * @typedef {import('@ambit/container').IContainer} IContainer
 */

/**
 * @typedef {object} OpenOrm
 * @property {(scope: IContainer) => Session} session
 * @property {() => Promise<unknown>} [close]
 */

/** @param {readonly any[]} rows @returns {number[]} */
const elementsOf = (rows) => rows.map(({ element }) => element);

/** @param {any} db @param {DatabaseName} database @param {any} root @returns {Session} */
function kyselySession(db, database, root = db) {
  return {
    append: (key, added) =>
      db
        .updateTable('lists')
        .set({ items: database === 'MariaDB' ? kyselySql`concat(items, ${added})` : kyselySql`items || ${added}` })
        .where('k', '=', key)
        .executeTakeFirstOrThrow(),
    read: async (key) =>
      (await db.selectFrom('lists').select('items').where('k', '=', key).executeTakeFirstOrThrow()).items,
    insert: (k, element) => db.insertInto('members').values({ element, k }).execute(),
    select: async (first, last) => {
      const query = db.selectFrom('members').select('element').where('k', '>=', first).where('k', '<=', last);
      return elementsOf(await query.execute());
    },
    nested: (work) =>
      root.transaction().execute((/** @type {any} */ inner) => work(kyselySession(inner, database, root))),
  };
}

const PG_TABLES = {
  lists: pgTable('lists', { k: integer().primaryKey(), items: text().notNull() }),
  members: pgTable('members', { element: integer().primaryKey(), k: integer().notNull() }),
};
const SQLITE_TABLES = {
  lists: sqliteTable('lists', { k: sqliteInteger().primaryKey(), items: sqliteText().notNull() }),
  members: sqliteTable('members', { element: sqliteInteger().primaryKey(), k: sqliteInteger().notNull() }),
};

/** @param {any} db @param {any} tables @returns {Session} */
function drizzleSession(db, tables) {
  const { lists, members } = tables;
  return {
    append: (key, added) =>
      db
        .update(lists)
        .set({ items: drizzleSql`${lists.items} || ${added}` })
        .where(eq(lists.k, key)),
    read: async (key) => (await db.select().from(lists).where(eq(lists.k, key)))[0].items,
    insert: (k, element) => db.insert(members).values({ element, k }),
    select: async (first, last) =>
      elementsOf(
        await db
          .select()
          .from(members)
          .where(between(members.k, first, last)),
      ),
    nested: (work) => db.transaction((/** @type {any} */ inner) => work(drizzleSession(inner, tables))),
  };
}

/** @param {import('knex').Knex} db @returns {Session} */
function knexSession(db) {
  return {
    append: async (k, added) =>
      db('lists')
        .where({ k })
        .update({ items: db.raw('items || ?', [added]) }),
    read: async (k) => (await db('lists').where({ k }).first('items')).items,
    insert: async (k, element) => db('members').insert({ element, k }),
    select: async (first, last) => elementsOf(await db('members').whereBetween('k', [first, last])),
    nested: (work) => db.transaction((inner) => work(knexSession(inner))),
  };
}

const ListEntity = new EntitySchema({
  name: 'list',
  tableName: 'lists',
  columns: { k: { type: 'int', primary: true }, items: { type: 'text' } },
});
const MemberEntity = new EntitySchema({
  name: 'member',
  tableName: 'members',
  columns: { element: { type: 'int', primary: true }, k: { type: 'int' } },
});

/** It reads an entity with a lock, changes it and saves it. @param {import('typeorm').EntityManager} manager @returns {Session} */
function typeormSession(manager) {
  const lists = manager.getRepository(ListEntity);
  const members = manager.getRepository(MemberEntity);
  return {
    append: async (k, added) => {
      const list = await lists.findOneOrFail({ where: { k }, lock: { mode: 'pessimistic_write' } });
      list['items'] += added;
      await lists.save(list);
    },
    read: async (k) => String((await lists.findOneByOrFail({ k }))['items']),
    insert: (k, element) => members.insert({ element, k }),
    select: async (first, last) => elementsOf(await members.findBy({ k: Between(first, last) })),
    nested: (work) => manager.transaction((inner) => work(typeormSession(inner))),
  };
}

const List = defineEntity({
  name: 'List',
  tableName: 'lists',
  properties: { k: p.integer().primary(), items: p.text() },
});
const Member = defineEntity({
  name: 'Member',
  tableName: 'members',
  properties: { element: p.integer().primary(), k: p.integer() },
});

/**
 * It changes entities that were read with a lock; the unit of work writes them, at the latest before COMMIT. In a nested transaction at
 * once: what MikroORM has not written before a rollback stays changed in memory, and is written with the outer transaction.
 *
 * @param {any} em
 * @returns {Session}
 */
function mikroOrmSession(em, isNested = false) {
  return {
    append: async (k, added) => {
      await em.flush();
      const list = await em.findOneOrFail(List, { k }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });
      list.items += added;
      if (isNested) await em.flush();
    },
    read: async (k) => {
      await em.flush();
      return (await em.findOneOrFail(List, { k }, { refresh: true })).items;
    },
    insert: async (k, element) => {
      em.persist(em.create(Member, { element, k }));
      if (isNested) await em.flush();
    },
    select: async (first, last) => {
      await em.flush();
      return elementsOf(await em.find(Member, { k: { $gte: first, $lte: last } }, { refresh: true }));
    },
    nested: async (work) => {
      await em.flush();
      await em.transactional((/** @type {any} */ inner) => work(mikroOrmSession(inner, true)));
    },
  };
}

/** Its nested transaction is begun by a statement, and further levels are savepoints. @param {import('pg').PoolClient} client @returns {Session} */
function pgClientSession(client, depth = 0) {
  const [begin, keep, undo] =
    depth === 0
      ? ['BEGIN', 'COMMIT', 'ROLLBACK']
      : [`SAVEPOINT s${depth}`, `RELEASE s${depth}`, `ROLLBACK TO s${depth}`];
  return {
    append: (key, added) => client.query('UPDATE lists SET items = items || $1 WHERE k = $2', [added, key]),
    read: async (key) => (await client.query('SELECT items FROM lists WHERE k = $1', [key])).rows[0].items,
    insert: (k, element) => client.query('INSERT INTO members (element, k) VALUES ($1, $2)', [element, k]),
    select: async (first, last) =>
      elementsOf((await client.query('SELECT element FROM members WHERE k BETWEEN $1 AND $2', [first, last])).rows),
    nested: async (work) => {
      await client.query(begin);
      try {
        await work(pgClientSession(client, depth + 1));
        await client.query(keep);
      } catch (error) {
        await client.query(undo);
        throw error;
      }
    },
  };
}

const DIALECTS = /** @type {const} */ ({
  PostgreSQL: 'postgres',
  SQLite: 'sqlite',
  MariaDB: 'mysql',
  PGlite: 'postgres',
});

/** @type {Readonly<Record<string, (pool: IDatabasePool, database: DatabaseName, address: string) => OpenOrm | Promise<OpenOrm>>>} */
const ORMS = {
  Kysely: (_pool, database) => {
    const dialect = DIALECTS[database];
    return { session: (scope) => kyselySession(kyselyOn(scope.resolve('IConnection'), { dialect }), database) };
  },
  Drizzle: (_pool, database) => ({
    session: (scope) =>
      database === 'SQLite'
        ? drizzleSession(drizzleOnSqlite(scope.resolve('IConnection')), SQLITE_TABLES)
        : drizzleSession(drizzleOn(scope.resolve('IConnection')), PG_TABLES),
  }),
  Knex: (_pool, database) => {
    const client = database === 'SQLite' ? 'sqlite3' : 'pg';
    return { session: (scope) => knexSession(knexOn(scope.resolve('IConnection'), { client })) };
  },
  TypeORM: async (pool) => {
    const driver = typeormDriver(pool);
    const dataSource = await new DataSource({
      type: 'postgres',
      driver,
      entities: [ListEntity, MemberEntity],
    }).initialize();
    return {
      session: (scope) => typeormSession(typeormOn(scope.resolve('IConnection'), dataSource)),
      close: () => dataSource.destroy(),
    };
  },
  'node-postgres': () => ({ session: (scope) => pgClientSession(pgClientOn(scope.resolve('IConnection'))) }),
  // Its packages are large, and installed apart, so the compiler must not look for them.
  Prisma: async (pool, _database, address) => {
    const { openPrisma } = await import(new URL('../orm/prisma/histories.mjs', import.meta.url).href);
    return openPrisma(pool, address);
  },
  MikroORM: (pool, database) => {
    const options = { dbName: 'test', entities: [List, Member] };
    /** @type {any} */
    const driver = { SQLite: SqliteDriver, MariaDB: MySqlDriver, PostgreSQL: PostgreSqlDriver, PGlite: undefined }[
      database
    ];
    const orm = new MikroORM({ ...options, driver, driverOptions: mikroOrmDialect(pool, DIALECTS[database]) });
    return {
      session: (scope) => mikroOrmSession(mikroOrmOn(scope.resolve('IConnection'), orm)),
      close: () => orm.close(),
    };
  },
};

/**
 * @param {string} name
 * @param {IDatabasePool} pool
 * @param {DatabaseName} database
 * @param {string} address of the database
 * @returns {Promise<OpenOrm>}
 */
export async function openOrm(name, pool, database, address) {
  const open = ORMS[name];
  if (!open) throw new Error(`There is no ${name}`);
  return open(pool, database, address);
}
