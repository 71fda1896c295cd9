import type { IConnection } from '@ambit/transaction';
import { kyselyOn } from '@ambit/orm/kysely';
import { CompiledQuery, type Generated, type Kysely, sql } from 'kysely';
import type { OrmSession } from '../stories/stage.js';
import { ormStories } from '../stories/stories.js';
import type { DatabaseKind } from '../../libraries/databases.js';

interface Tables {
  authors: { id: number; name: string };
  books: { id: number; author_id: number; name: string; version: Generated<number> };
  samples: { id: number; at: unknown; big: unknown; data: unknown; yes: unknown; missing: string | null };
}

const DIALECTS = { PostgreSQL: 'postgres', SQLite: 'sqlite', MariaDB: 'mysql' } as const;

ormStories({
  name: 'Kysely',
  databases: ['PostgreSQL', 'SQLite', 'MariaDB'],
  streams: true,
  open: ({ kind }) => ({
    session: (scope) =>
      sessionOn(kyselyOn<Tables>(scope.resolve<IConnection>('IConnection'), { dialect: DIALECTS[kind] }), kind),
    onPool: (pool) => sessionOn(kyselyOn<Tables>(pool, { dialect: DIALECTS[kind] }), kind),
  }),
});

function sessionOn(db: Kysely<Tables>, kind: DatabaseKind, root = db): OrmSession {
  return {
    insertAuthor: (author) => db.insertInto('authors').values(author).execute(),
    insertBook: ({ id, authorId, name }) => db.insertInto('books').values({ id, author_id: authorId, name }).execute(),
    authors: () => db.selectFrom('authors').selectAll().orderBy('id').execute(),
    booksWithAuthors: async () => {
      const rows = await db
        .selectFrom('books')
        .innerJoin('authors', 'authors.id', 'books.author_id')
        .select(['books.id as bookId', 'books.name as bookName', 'authors.id as id', 'authors.name as name'])
        .execute();
      return rows.map(({ bookId, bookName, id, name }) => ({
        book: { id: bookId, name: bookName },
        author: { id, name },
      }));
    },
    renameAuthors: async (ids, name) => {
      const { numUpdatedRows } = await db
        .updateTable('authors')
        .set({ name })
        .where('id', 'in', ids)
        .executeTakeFirstOrThrow();
      return Number(numUpdatedRows);
    },
    renameBook: async (id, version, name) => {
      const renaming = db.updateTable('books').set({ name, version: version + 1 });
      const { numUpdatedRows } = await renaming
        .where('id', '=', id)
        .where('version', '=', version)
        .executeTakeFirstOrThrow();
      return numUpdatedRows === 1n;
    },
    insertSample: ({ at, big, data, yes, missing }) =>
      db
        .insertInto('samples')
        .values({ id: 1, at, big, data: kind === 'PostgreSQL' ? data : JSON.stringify(data), yes, missing })
        .execute(),
    sample: () => db.selectFrom('samples').select(['at', 'big', 'data', 'yes', 'missing']).executeTakeFirstOrThrow(),
    authorNamed: async (name) =>
      (await sql<{ id: number; name: string }>`SELECT id, name FROM authors WHERE name = ${name}`.execute(db)).rows,
    // A Transaction of Kysely has no transaction(): the Kysely that it comes from nests further.
    nested: (work) => root.transaction().execute((trx) => work(sessionOn(trx, kind, root))),
    stream: () => db.selectFrom('authors').selectAll().orderBy('id').stream(10),
    attempts: {
      'raw BEGIN': () => sql`BEGIN`.execute(db),
      'raw COMMIT': () => sql`COMMIT`.execute(db),
      'raw COMMIT behind a comment': () => sql`/* */ COMMIT`.execute(db),
      'raw ROLLBACK': () => sql`ROLLBACK`.execute(db),
      'a compiled COMMIT': () => db.executeQuery(CompiledQuery.raw('COMMIT')),
      'a reserved connection': () => db.connection().execute((one) => sql`COMMIT`.execute(one)),
      'its transaction': () => db.transaction().execute(async () => undefined),
      'a controlled transaction': async () => (await db.startTransaction().execute()).commit().execute(),
      'a controlled rollback': async () => (await db.startTransaction().execute()).rollback().execute(),
      destroy: () => db.destroy(),
    },
  };
}
