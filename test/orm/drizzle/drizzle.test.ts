import type { IConnection } from '@ambit/transaction';
import { drizzleOn } from '@ambit/orm/drizzle';
import { drizzleOn as drizzleOnSqlite, type ScopedSqliteDatabase } from '@ambit/orm/drizzle/sqlite';
import { and, eq, inArray, sql } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import * as pg from 'drizzle-orm/pg-core';
import * as sqlite from 'drizzle-orm/sqlite-core';
import { type Orm, type OrmSession, SAMPLE } from '../stories/stage.js';
import { ormStories } from '../stories/stories.js';

/** The connection gives integers beyond 2^53 as text. */
const bigintColumn = sqlite.customType<{ data: bigint; driverData: bigint | number | string }>({
  dataType: () => 'integer',
  fromDriver: (value) => BigInt(value),
});
const dateColumn = sqlite.customType<{ data: Date; driverData: string }>({
  dataType: () => 'text',
  toDriver: (value) => value.toISOString(),
  fromDriver: (value) => new Date(value),
});

const onPostgres = {
  authors: pg.pgTable('authors', { id: pg.integer().primaryKey(), name: pg.varchar().notNull() }),
  books: pg.pgTable('books', {
    id: pg.integer().primaryKey(),
    authorId: pg.integer('author_id').notNull(),
    name: pg.varchar().notNull(),
    version: pg.integer().notNull().default(1),
  }),
  samples: pg.pgTable('samples', {
    id: pg.integer().primaryKey(),
    at: pg.timestamp({ withTimezone: true }).notNull(),
    big: pg.bigint({ mode: 'bigint' }).notNull(),
    data: pg.jsonb().notNull(),
    yes: pg.boolean().notNull(),
    missing: pg.varchar(),
  }),
};
const onSqlite = {
  authors: sqlite.sqliteTable('authors', { id: sqlite.integer().primaryKey(), name: sqlite.text().notNull() }),
  books: sqlite.sqliteTable('books', {
    id: sqlite.integer().primaryKey(),
    authorId: sqlite.integer('author_id').notNull(),
    name: sqlite.text().notNull(),
    version: sqlite.integer().notNull().default(1),
  }),
  samples: sqlite.sqliteTable('samples', {
    id: sqlite.integer().primaryKey(),
    at: dateColumn().notNull(),
    big: bigintColumn().notNull(),
    data: sqlite.text({ mode: 'json' }).notNull(),
    yes: sqlite.integer({ mode: 'boolean' }).notNull(),
    missing: sqlite.text(),
  }),
};
type Db = NodePgDatabase<typeof onPostgres>;
type SqliteDb = ScopedSqliteDatabase<typeof onSqlite>;

const drizzle: Pick<Orm, 'name' | 'streams' | 'refused' | 'gives'> = {
  name: 'Drizzle',
  streams: false,
  refused: (error) => (error as Error).cause,
  gives: () => SAMPLE,
};
ormStories({
  ...drizzle,
  databases: ['PostgreSQL'],
  open: () => ({
    session: (scope) => sessionOn(drizzleOn(scope.resolve<IConnection>('IConnection'), { schema: onPostgres })),
    onPool: (pool) => sessionOn(drizzleOn(pool, { schema: onPostgres })),
  }),
});
ormStories({
  ...drizzle,
  databases: ['SQLite'],
  open: () => ({
    session: (scope) =>
      sqliteSessionOn(drizzleOnSqlite(scope.resolve<IConnection>('IConnection'), { schema: onSqlite })),
    onPool: (pool) => sqliteSessionOn(drizzleOnSqlite(pool, { schema: onSqlite })),
  }),
});

/** Drizzle's builders are alike on both databases; its types are not. */
function statementsOn(
  db: Db,
  { authors, books, samples }: typeof onPostgres,
): Omit<OrmSession, 'authorNamed' | 'nested' | 'attempts'> {
  return {
    insertAuthor: (author) => db.insert(authors).values(author),
    insertBook: (book) => db.insert(books).values(book),
    authors: () => db.query.authors.findMany({ orderBy: authors.id }),
    booksWithAuthors: () =>
      db
        .select({ book: { id: books.id, name: books.name }, author: authors })
        .from(books)
        .innerJoin(authors, eq(authors.id, books.authorId)),
    renameAuthors: async (ids, name) => {
      const { rowCount } = await db
        .update(authors)
        .set({ name })
        .where(inArray(authors.id, [...ids]));
      return rowCount ?? 0;
    },
    renameBook: async (id, version, name) => {
      const changed = await db
        .update(books)
        .set({ name, version: version + 1 })
        .where(and(eq(books.id, id), eq(books.version, version)))
        .returning({ id: books.id });
      return changed.length === 1;
    },
    insertSample: (sample) => db.insert(samples).values({ id: 1, ...sample }),
    sample: async () => {
      const [row] = await db.select().from(samples);
      if (!row) throw new Error('There is no sample');
      return row;
    },
  };
}

function sessionOn(db: Db): OrmSession {
  return {
    ...statementsOn(db, onPostgres),
    authorNamed: async (name) =>
      (await db.execute<{ id: number; name: string }>(sql`SELECT id, name FROM authors WHERE name = ${name}`)).rows,
    nested: (work) => db.transaction((tx) => work(sessionOn(tx))),
    attempts: {
      'raw BEGIN': () => db.execute(sql`BEGIN`),
      'raw COMMIT': () => db.execute(sql`COMMIT`),
      'raw COMMIT behind a comment': () => db.execute(sql`/* */ commit`),
      'raw ROLLBACK': () => db.execute(sql`ROLLBACK`),
      'COMMIT as a string': () => db.execute('COMMIT'),
      'its transaction': () => db.transaction(async () => undefined),
      'a COMMIT in its transaction': () => db.transaction((tx) => tx.execute(sql`COMMIT`)),
      'rollback() of its transaction': () => db.transaction(async (tx) => tx.rollback()),
      'the transaction of a transaction': () => db.transaction((tx) => tx.transaction(async () => undefined)),
    },
  };
}

function sqliteSessionOn(db: SqliteDb): OrmSession {
  return {
    ...statementsOn(db as never, onSqlite as never),
    authorNamed: (name) => db.all(sql`SELECT id, name FROM authors WHERE name = ${name}`),
    nested: (work) => db.transaction((tx) => work(sqliteSessionOn(tx))),
    attempts: {
      'raw BEGIN': () => db.run(sql`BEGIN`),
      'raw COMMIT': () => db.run(sql`COMMIT`),
      'raw END': () => db.all(sql`END`),
      'raw ROLLBACK': () => db.run(sql`ROLLBACK`),
      'COMMIT as a string': () => db.run('COMMIT'),
      'its transaction': () => db.transaction(async () => undefined, { behavior: 'immediate' }),
      'a COMMIT in its transaction': () => db.transaction((tx) => tx.run(sql`COMMIT`)),
      'rollback() of its transaction': () => db.transaction(async (tx) => tx.rollback()),
    },
  };
}
