import type { IConnection } from '@ambit/transaction';
import { drizzleOn, type ScopedSqliteDatabase } from '@ambit/orm/drizzle/sqlite';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { customType, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { Orm, OrmSession } from '../orm-stories/orm.js';

/** The connection gives integers beyond 2^53 as text. */
const bigintColumn = customType<{ data: bigint; driverData: bigint | number | string }>({
  dataType: () => 'integer',
  fromDriver: (value) => BigInt(value),
});
const dateColumn = customType<{ data: Date; driverData: string }>({
  dataType: () => 'text',
  toDriver: (value) => value.toISOString(),
  fromDriver: (value) => new Date(value),
});

const authors = sqliteTable('authors', { id: integer().primaryKey(), name: text().notNull() });
const books = sqliteTable('books', {
  id: integer().primaryKey(),
  authorId: integer('author_id').notNull(),
  name: text().notNull(),
  version: integer().notNull().default(1),
});
const samples = sqliteTable('samples', {
  id: integer().primaryKey(),
  at: dateColumn().notNull(),
  big: bigintColumn().notNull(),
  data: text({ mode: 'json' }).notNull(),
  yes: integer({ mode: 'boolean' }).notNull(),
  missing: text(),
});
const schema = { authors, books, samples };

export const drizzleOnSqlite: Orm = {
  name: 'Drizzle',
  databases: ['SQLite'],
  streams: false,
  refused: (error) => (error as Error).cause,
  gives: () => ({
    at: new Date('2024-02-29T12:34:56.789Z'),
    big: 9_007_199_254_740_993n,
    data: { tags: ['a', "b's"], deep: { at: null, n: 1.5 } },
    yes: true,
    missing: null,
  }),
  open: () => ({
    session: (scope) => sessionOn(drizzleOn(scope.resolve<IConnection>('IConnection'), { schema })),
    onPool: (pool) => sessionOn(drizzleOn(pool, { schema })),
  }),
};

function sessionOn(db: ScopedSqliteDatabase<typeof schema>): OrmSession {
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
      const row = await db.select().from(samples).get();
      if (!row) throw new Error('There is no sample');
      return row;
    },
    authorNamed: (name) => db.all(sql`SELECT id, name FROM authors WHERE name = ${name}`),
    nested: (work) => db.transaction((tx) => work(sessionOn(tx))),
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
