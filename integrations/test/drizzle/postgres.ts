import type { IConnection } from '@ambit/transaction';
import { drizzleOn } from '@ambit/orm/drizzle';
import { and, eq, inArray, sql } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { bigint, boolean, integer, jsonb, pgTable, timestamp, varchar } from 'drizzle-orm/pg-core';
import type { Orm, OrmSession } from '../orm-stories/orm.js';

const authors = pgTable('authors', { id: integer().primaryKey(), name: varchar().notNull() });
const books = pgTable('books', {
  id: integer().primaryKey(),
  authorId: integer('author_id').notNull(),
  name: varchar().notNull(),
  version: integer().notNull().default(1),
});
const samples = pgTable('samples', {
  id: integer().primaryKey(),
  at: timestamp({ withTimezone: true }).notNull(),
  big: bigint({ mode: 'bigint' }).notNull(),
  data: jsonb().notNull(),
  yes: boolean().notNull(),
  missing: varchar(),
});
export const schema = { authors, books, samples };

export const drizzleOnPostgres: Orm = {
  name: 'Drizzle',
  databases: ['PostgreSQL'],
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

function sessionOn(db: NodePgDatabase<typeof schema>): OrmSession {
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
    authorNamed: async (name) => {
      const { rows } = await db.execute<{ id: number; name: string }>(
        sql`SELECT id, name FROM authors WHERE name = ${name}`,
      );
      return rows;
    },
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
