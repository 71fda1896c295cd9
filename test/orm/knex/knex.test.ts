import type { IConnection } from '@ambit/transaction';
import { type KnexClientName, knexOn } from '@ambit/orm/knex';
import type { Knex } from 'knex';
import { type Author, type OrmSession, SAMPLE } from '../stories/stage.js';
import { ormStories } from '../stories/stories.js';
import type { DatabaseKind } from '../../libraries/databases.js';

interface JoinedRow extends Author {
  readonly bookId: number;
  readonly bookName: string;
}

const CLIENTS: Partial<Record<DatabaseKind, KnexClientName>> = { PostgreSQL: 'pg', SQLite: 'sqlite3' };

ormStories({
  name: 'Knex',
  databases: ['PostgreSQL', 'SQLite'],
  streams: true,
  // Knex's drivers for SQLite store a date as its milliseconds, which this column keeps as text.
  gives: (database) => (database === 'SQLite' ? { at: String(SAMPLE.at.getTime()) } : {}),
  open: ({ kind }) => ({
    session: (scope) => sessionOn(knexOn(scope.resolve<IConnection>('IConnection'), { client: CLIENTS[kind]! }), kind),
    onPool: (pool) => sessionOn(knexOn(pool, { client: CLIENTS[kind]! }), kind),
  }),
});

function sessionOn(db: Knex, kind: DatabaseKind): OrmSession {
  return {
    insertAuthor: async (author) => db('authors').insert(author),
    insertBook: async ({ id, authorId, name }) => db('books').insert({ id, author_id: authorId, name }),
    authors: async () => db<Author>('authors').select().orderBy('id'),
    booksWithAuthors: async () => {
      const rows = await db('books')
        .join('authors', 'authors.id', 'books.author_id')
        .select<JoinedRow[]>({ bookId: 'books.id', bookName: 'books.name' }, 'authors.id', 'authors.name');
      return rows.map(({ bookId, bookName, id, name }) => ({
        book: { id: bookId, name: bookName },
        author: { id, name },
      }));
    },
    renameAuthors: async (ids, name) => db('authors').whereIn('id', ids).update({ name }),
    renameBook: async (id, version, name) => {
      const renaming = db('books').where({ id, version }).update({ name });
      return (await renaming.increment('version', 1)) === 1;
    },
    insertSample: async ({ at, big, data, yes, missing }) =>
      db('samples').insert({ id: 1, at, big, data: kind === 'PostgreSQL' ? data : JSON.stringify(data), yes, missing }),
    sample: async () => db('samples').first('at', 'big', 'data', 'yes', 'missing'),
    authorNamed: async (name) => {
      const result = await db.raw('SELECT id, name FROM authors WHERE name = ?', [name]);
      return kind === 'PostgreSQL' ? result.rows : result;
    },
    nested: (work) => db.transaction((trx) => work(sessionOn(trx, kind))),
    stream: () => db('authors').select().orderBy('id').stream({ batchSize: 10 }),
    attempts: {
      'raw BEGIN': async () => db.raw('BEGIN'),
      'raw COMMIT': async () => db.raw('COMMIT'),
      'raw COMMIT with a semicolon': async () => db.raw('COMMIT;'),
      'raw ROLLBACK': async () => db.raw('ROLLBACK'),
      'its transaction': () => db.transaction(async () => undefined),
      'a transaction that it is handed': async () => (await db.transaction()).commit(),
      'a rollback of that': async () => (await db.transaction()).rollback(),
      'a transaction provider': async () => (await db.transactionProvider()()).commit(),
      'a raw COMMIT in its transaction': () => db.transaction((trx) => trx.raw('COMMIT')),
      destroy: () => db.destroy(),
    },
  };
}
