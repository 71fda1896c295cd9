import type { IConnection } from '@ambit/transaction';
import { type SlonikMethods, slonikOn } from '@ambit/orm/slonik';
import { type CommonQueryMethods, sql, type UniqueIntegrityConstraintViolationError } from 'slonik';
import { z } from 'zod';
import type { Author, Orm, OrmSession } from '../orm-stories/orm.js';
import { SAMPLE } from '../orm-stories/orm.js';

const author = z.object({ id: z.number(), name: z.string() });
const bookWithAuthor = author.extend({ bookId: z.number(), bookName: z.string() });
const sample = z.object({
  at: z.unknown(),
  big: z.unknown(),
  data: z.unknown(),
  yes: z.unknown(),
  missing: z.unknown(),
});

/** Code that was written for slonik. */
export const slonikOrm: Orm = {
  name: 'slonik',
  databases: ['PostgreSQL'],
  drivers: ['pg', 'postgres.js', 'PGlite'],
  streams: true,
  refused: (error) => (error as UniqueIntegrityConstraintViolationError).cause,
  // Slonik gives times as milliseconds.
  gives: () => ({ ...SAMPLE, at: SAMPLE.at.getTime() }),
  open: () => ({
    session: (scope) => sessionOn(slonikOn(scope.resolve<IConnection>('IConnection'))),
    onPool: (pool) => sessionOn(slonikOn(pool)),
  }),
};

function sessionOn(slonik: CommonQueryMethods & Partial<SlonikMethods>): OrmSession {
  return {
    insertAuthor: ({ id, name }) => slonik.query(sql.unsafe`INSERT INTO authors (id, name) VALUES (${id}, ${name})`),
    insertBook: ({ id, authorId, name }) => {
      const columns = sql.join(
        ['id', 'author_id', 'name'].map((column) => sql.identifier([column])),
        sql.fragment`, `,
      );
      return slonik.query(
        sql.unsafe`INSERT INTO books (${columns}) VALUES (${sql.join([id, authorId, name], sql.fragment`, `)})`,
      );
    },
    authors: async () => [...(await slonik.any(sql.type(author)`SELECT id, name FROM authors ORDER BY id`))],
    booksWithAuthors: async () => {
      const rows = await slonik.any(sql.type(bookWithAuthor)`
        SELECT books.id AS "bookId", books.name AS "bookName", authors.id, authors.name
        FROM books JOIN authors ON authors.id = books.author_id
      `);
      return rows.map(({ bookId, bookName, id, name }) => ({
        book: { id: bookId, name: bookName },
        author: { id, name },
      }));
    },
    renameAuthors: async (ids, name) => {
      const some = sql.array(ids, 'int4');
      return (await slonik.query(sql.unsafe`UPDATE authors SET name = ${name} WHERE id = ANY(${some})`)).rowCount;
    },
    renameBook: async (id, version, name) => {
      const same = sql.fragment`id = ${id} AND version = ${version}`;
      const { rowCount } = await slonik.query(
        sql.unsafe`UPDATE books SET name = ${name}, version = version + 1 WHERE ${same}`,
      );
      return rowCount === 1;
    },
    insertSample: ({ at, big, data, yes, missing }) =>
      slonik.query(
        sql.unsafe`INSERT INTO samples VALUES (1, ${sql.timestamp(at)}, ${big}, ${sql.jsonb(data as never)}, ${yes}, ${missing})`,
      ),
    sample: () => slonik.one(sql.type(sample)`SELECT at, big, data, yes, missing FROM samples`),
    authorNamed: async (name) => [
      ...(await slonik.any(sql.type(author)`SELECT id, name FROM authors WHERE name = ${name}`)),
    ],
    nested: (work) => slonik.transaction((inner) => work(sessionOn(inner))),
    stream: () => streamOf(slonik),
    attempts: {
      'raw BEGIN': () => slonik.query(sql.unsafe`BEGIN`),
      'raw COMMIT': () => slonik.query(sql.unsafe`COMMIT`),
      'raw COMMIT behind a comment': () => slonik.query(sql.unsafe`/* */ COMMIT`),
      'raw ROLLBACK': () => slonik.query(sql.unsafe`ROLLBACK`),
      'its transaction': () => slonik.transaction(async () => undefined),
      'a COMMIT in its transaction': () => slonik.transaction((inner) => inner.query(sql.unsafe`COMMIT`)),
      'a connection': async () => slonik.connect?.((connection) => connection.query(sql.unsafe`COMMIT`)),
      'the transaction of a connection': async () =>
        slonik.connect?.((connection) => connection.transaction((inner) => inner.query(sql.unsafe`SELECT 1`))),
    },
  };
}

/** Slonik hands the stream to a function. */
async function* streamOf(slonik: CommonQueryMethods): AsyncGenerator<Author> {
  let streaming: Promise<unknown> = Promise.resolve();
  const opened = new Promise<AsyncIterable<{ data: Author }>>((resolve) => {
    const query = sql.type(author)`SELECT id, name FROM authors ORDER BY id`;
    streaming = slonik.stream(query, (stream) => resolve(stream as unknown as AsyncIterable<{ data: Author }>));
  });
  streaming.catch(() => undefined);
  for await (const { data } of await opened) yield data;
}
