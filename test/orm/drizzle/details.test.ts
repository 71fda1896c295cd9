import { type IConnection, runInTransaction } from '@ambit/transaction';
import { drizzleOn } from '@ambit/orm/drizzle';
import { relations, sql } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { integer, pgTable, varchar } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type App, openApp } from '../../libraries/app.js';

const authors = pgTable('authors', { id: integer().primaryKey(), fullName: varchar() });
const books = pgTable('books', { id: integer().primaryKey(), authorId: integer() });
const schema = {
  authors,
  books,
  authorsRelations: relations(authors, ({ many }) => ({ books: many(books) })),
  booksRelations: relations(books, ({ one }) => ({
    author: one(authors, { fields: [books.authorId], references: [authors.id] }),
  })),
};
type Db = NodePgDatabase<typeof schema>;

let app: App;

beforeAll(async () => {
  app = await openApp('PostgreSQL');
  await app.pool.query('CREATE TABLE authors (id INTEGER PRIMARY KEY, full_name VARCHAR)');
  await app.pool.query('CREATE TABLE books (id INTEGER PRIMARY KEY, author_id INTEGER)');
});
beforeEach(() => app.pool.query('TRUNCATE authors, books'));
afterAll(() => app.drop());

const inTransaction = <T>(work: (db: Db) => Promise<T>): Promise<T> =>
  runInTransaction(app.container, (scope) =>
    work(drizzleOn(scope.resolve<IConnection>('IConnection'), { schema, casing: 'snake_case' })),
  );

it('reads relations, with a casing and with the schema of another transaction', async () => {
  await inTransaction(async (db) => {
    await db.insert(authors).values({ id: 1, fullName: 'Ada' });
    await db.insert(books).values({ id: 7, authorId: 1 });
  });
  const read = (db: Db) => db.query.authors.findMany({ with: { books: true } });
  const expected = [{ id: 1, fullName: 'Ada', books: [{ id: 7, authorId: 1 }] }];
  expect(await inTransaction(read)).toEqual(expected);
  expect(await inTransaction((db) => db.transaction(read))).toEqual(expected);
});

it('runs prepared statements, also under a name of the application', async () => {
  const names = await inTransaction(async (db) => {
    const insert = db
      .insert(authors)
      .values({ id: sql.placeholder('id'), fullName: 'Ada' })
      .prepare('insert_author');
    await insert.execute({ id: 1 });
    await insert.execute({ id: 2 });
    return db.$count(authors);
  });
  expect(names).toBe(2);
});

it('retries the transaction after a serialisation failure that Drizzle has wrapped', async () => {
  let attempts = 0;
  await inTransaction(async (db) => {
    attempts += 1;
    if (attempts === 1) await db.execute(sql`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$`);
  });
  expect(attempts).toBe(2);
});

it('refuses an isolation level of a nested transaction, and goes on', async () => {
  await inTransaction(async (db) => {
    const nested = db.transaction(async () => undefined, { isolationLevel: 'serializable' });
    await expect(nested).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
    expect(await db.$count(authors)).toBe(0);
  });
});
