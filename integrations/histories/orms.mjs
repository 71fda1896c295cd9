// @ts-check
// The same list, appended to and read with the means of each ORM and query builder.
import { drizzleOn } from '@ambit/orm/drizzle';
import { drizzleOn as drizzleOnSqlite } from '@ambit/orm/drizzle/sqlite';
import { knexOn } from '@ambit/orm/knex';
import { kyselyOn } from '@ambit/orm/kysely';
import { mikroOrmDialect, mikroOrmOn } from '@ambit/orm/mikro-orm';
import { typeormDriver, typeormOn } from '@ambit/orm/typeorm';
import { defineEntity, LockMode, p } from '@mikro-orm/core';
import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { MikroORM, SqliteDriver } from '@mikro-orm/sql';
import { eq, sql as drizzleSql } from 'drizzle-orm';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import { integer as sqliteInteger, sqliteTable, text as sqliteText } from 'drizzle-orm/sqlite-core';
import { sql as kyselySql } from 'kysely';
import { DataSource, EntitySchema } from 'typeorm';

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

/** @param {any} db @param {any} root @returns {Session} */
function kyselySession(db, root = db) {
  return {
    append: (key, added) =>
      db
        .updateTable('lists')
        .set({ items: kyselySql`items || ${added}` })
        .where('k', '=', key)
        .executeTakeFirstOrThrow(),
    read: async (key) =>
      (await db.selectFrom('lists').select('items').where('k', '=', key).executeTakeFirstOrThrow()).items,
    nested: (work) => root.transaction().execute((/** @type {any} */ inner) => work(kyselySession(inner, root))),
  };
}

const PG_LISTS = pgTable('lists', { k: integer().primaryKey(), items: text().notNull() });
const SQLITE_LISTS = sqliteTable('lists', { k: sqliteInteger().primaryKey(), items: sqliteText().notNull() });

/** @param {any} db @param {any} lists @returns {Session} */
function drizzleSession(db, lists) {
  return {
    append: (key, added) =>
      db
        .update(lists)
        .set({ items: drizzleSql`${lists.items} || ${added}` })
        .where(eq(lists.k, key)),
    read: async (key) => (await db.select().from(lists).where(eq(lists.k, key)))[0].items,
    nested: (work) => db.transaction((/** @type {any} */ inner) => work(drizzleSession(inner, lists))),
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
    nested: (work) => db.transaction((inner) => work(knexSession(inner))),
  };
}

const ListEntity = new EntitySchema({
  name: 'list',
  tableName: 'lists',
  columns: { k: { type: 'int', primary: true }, items: { type: 'text' } },
});

/** It reads an entity with a lock, changes it and saves it. @param {import('typeorm').EntityManager} manager @returns {Session} */
function typeormSession(manager) {
  const lists = manager.getRepository(ListEntity);
  return {
    append: async (k, added) => {
      const list = await lists.findOneOrFail({ where: { k }, lock: { mode: 'pessimistic_write' } });
      list['items'] += added;
      await lists.save(list);
    },
    read: async (k) => String((await lists.findOneByOrFail({ k }))['items']),
    nested: (work) => manager.transaction((inner) => work(typeormSession(inner))),
  };
}

const List = defineEntity({
  name: 'List',
  tableName: 'lists',
  properties: { k: p.integer().primary(), items: p.text() },
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
    nested: async (work) => {
      await em.flush();
      await em.transactional((/** @type {any} */ inner) => work(mikroOrmSession(inner, true)));
    },
  };
}

/** @type {Readonly<Record<string, (pool: IDatabasePool, database: DatabaseName) => OpenOrm | Promise<OpenOrm>>>} */
const ORMS = {
  Kysely: (_pool, database) => {
    const dialect = database === 'SQLite' ? 'sqlite' : 'postgres';
    return { session: (scope) => kyselySession(kyselyOn(scope.resolve('IConnection'), { dialect })) };
  },
  Drizzle: (_pool, database) => ({
    session: (scope) =>
      database === 'SQLite'
        ? drizzleSession(drizzleOnSqlite(scope.resolve('IConnection')), SQLITE_LISTS)
        : drizzleSession(drizzleOn(scope.resolve('IConnection')), PG_LISTS),
  }),
  Knex: (_pool, database) => {
    const client = database === 'SQLite' ? 'sqlite3' : 'pg';
    return { session: (scope) => knexSession(knexOn(scope.resolve('IConnection'), { client })) };
  },
  TypeORM: async (pool) => {
    const driver = typeormDriver(pool);
    const dataSource = await new DataSource({ type: 'postgres', driver, entities: [ListEntity] }).initialize();
    return {
      session: (scope) => typeormSession(typeormOn(scope.resolve('IConnection'), dataSource)),
      close: () => dataSource.destroy(),
    };
  },
  MikroORM: (pool, database) => {
    const options = { dbName: 'test', entities: [List] };
    /** @type {any} */
    const orm =
      database === 'SQLite'
        ? new MikroORM({ ...options, driver: SqliteDriver, driverOptions: mikroOrmDialect(pool, 'sqlite') })
        : new MikroORM({ ...options, driver: PostgreSqlDriver, driverOptions: mikroOrmDialect(pool) });
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
 * @returns {Promise<OpenOrm>}
 */
export async function openOrm(name, pool, database) {
  const open = ORMS[name];
  if (!open) throw new Error(`There is no ${name}`);
  return open(pool, database);
}
