import type { IConnection } from '@ambit/transaction';
import { postgresJsOn } from '@ambit/orm/postgres-js';
import postgres, { type Sql } from 'postgres';
import type { Author, GivenSample, Orm, OrmSession } from '../orm-stories/orm.js';
import { SAMPLE } from '../orm-stories/orm.js';

/** It connects nowhere: the port has no server. */
export const application = postgres({ host: '127.0.0.1', port: 1 });

/** Code that was written for postgres.js. */
export const postgresJs: Orm = {
  name: 'postgres.js',
  databases: ['PostgreSQL'],
  drivers: ['pg', 'postgres.js', 'PGlite'],
  streams: true,
  refused: (error) => {
    const { code, constraint_name: constraint } = error as postgres.PostgresError;
    return error instanceof application.PostgresError && { code, constraint };
  },
  gives: () => ({ ...SAMPLE, big: String(SAMPLE.big) }),
  open: () => ({
    session: (scope) => sessionOn(postgresJsOn(scope.resolve<IConnection>('IConnection'), application)),
    onPool: (pool) => sessionOn(postgresJsOn(pool, application)),
  }),
};

function sessionOn(sql: Sql): OrmSession {
  return {
    insertAuthor: (author) => sql`INSERT INTO authors ${sql({ ...author })}`.execute(),
    insertBook: ({ id, authorId, name }) => sql`INSERT INTO books ${sql({ id, author_id: authorId, name })}`.execute(),
    authors: async () => [...(await sql<Author[]>`SELECT id, name FROM authors ORDER BY id`)],
    booksWithAuthors: async () => {
      const rows: unknown = await sql`
        SELECT books.id, books.name, authors.id, authors.name FROM books JOIN authors ON authors.id = books.author_id
      `.values();
      return (rows as [number, string, number, string][]).map(([bookId, bookName, id, name]) => ({
        book: { id: bookId, name: bookName },
        author: { id, name },
      }));
    },
    renameAuthors: async (ids, name) =>
      (await sql`UPDATE authors SET ${sql({ name })} WHERE id IN ${sql([...ids])}`).count,
    renameBook: async (id, version, name) => {
      const next = sql`version + 1`;
      return (
        (await sql`UPDATE books SET name = ${name}, version = ${next} WHERE id = ${id} AND version = ${version}`)
          .count === 1
      );
    },
    insertSample: ({ at, big, data, yes, missing }) =>
      sql`INSERT INTO samples VALUES (1, ${at}, ${String(big)}, ${sql.json(data as never)}, ${yes}, ${missing})`.execute(),
    sample: async () => (await sql<[GivenSample & object]>`SELECT at, big, data, yes, missing FROM samples`)[0],
    authorNamed: async (name) => [
      ...(await sql.unsafe<Author[]>('SELECT id, name FROM authors WHERE name = $1', [name])),
    ],
    nested: async (work) => (await sql.begin((inner) => work(sessionOn(inner as unknown as Sql)))) as never,
    async *stream() {
      for await (const rows of sql<Author[]>`SELECT id, name FROM authors ORDER BY id`.cursor(10)) yield* rows;
    },
    attempts: {
      BEGIN: () => sql`BEGIN`.execute(),
      COMMIT: () => sql`COMMIT`.execute(),
      'COMMIT behind a comment': () => sql.unsafe('/* */ COMMIT').execute(),
      'COMMIT in a script': () => sql.unsafe('SELECT 1; COMMIT').execute(),
      ROLLBACK: () => sql`ROLLBACK`.execute(),
      'a reserved connection': async () => {
        const reserved = await sql.reserve();
        await reserved`COMMIT`;
      },
      'its transaction': () => sql.begin((inner) => inner`SELECT 1`),
      'prepare of its transaction': () => sql.begin((inner) => inner.prepare('other')),
      end: () => sql.end(),
    },
  };
}
