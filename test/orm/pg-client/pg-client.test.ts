import type { IConnection } from '@ambit/transaction';
import { pgClientOn } from '@ambit/orm/pg';
import type { PoolClient } from 'pg';
import type { Author, GivenSample, OrmSession } from '../stories/stage.js';
import { ormStories } from '../stories/stories.js';

/** Code that was written for node-postgres. */
ormStories({
  name: 'pg',
  databases: ['PostgreSQL'],
  drivers: ['pg', 'postgres.js', 'PGlite'],
  streams: false,
  nestsByStatements: true,
  open: () => ({
    session: (scope) => sessionOn(pgClientOn(scope.resolve<IConnection>('IConnection'))),
    onPool: (pool) => sessionOn(pgClientOn(pool)),
  }),
});

function sessionOn(client: PoolClient, depth = 0): OrmSession {
  return {
    insertAuthor: ({ id, name }) => client.query('INSERT INTO authors (id, name) VALUES ($1, $2)', [id, name]),
    insertBook: ({ id, authorId, name }) =>
      client.query({
        text: 'INSERT INTO books (id, author_id, name) VALUES ($1, $2, $3)',
        values: [id, authorId, name],
      }),
    authors: async () => (await client.query<Author>('SELECT id, name FROM authors ORDER BY id')).rows,
    booksWithAuthors: async () => {
      const text =
        'SELECT books.id, books.name, authors.id, authors.name FROM books JOIN authors ON authors.id = books.author_id';
      const { rows } = await client.query<[number, string, number, string]>({ text, rowMode: 'array' });
      return rows.map(([bookId, bookName, id, name]) => ({
        book: { id: bookId, name: bookName },
        author: { id, name },
      }));
    },
    renameAuthors: async (ids, name) =>
      (await client.query('UPDATE authors SET name = $1 WHERE id = ANY($2)', [name, ids])).rowCount ?? -1,
    renameBook: async (id, version, name) => {
      const text = 'UPDATE books SET name = $1, version = version + 1 WHERE id = $2 AND version = $3';
      return (await client.query(text, [name, id, version])).rowCount === 1;
    },
    insertSample: ({ at, big, data, yes, missing }) =>
      client.query('INSERT INTO samples VALUES (1, $1, $2, $3, $4, $5)', [at, big, data, yes, missing]),
    sample: async () =>
      (await client.query<GivenSample & object>('SELECT at, big, data, yes, missing FROM samples')).rows[0]!,
    authorNamed: async (name) =>
      (await client.query<Author>({ name: 'by-name', text: 'SELECT id, name FROM authors WHERE name = $1' }, [name]))
        .rows,
    nested: (work) => nestedOn(client, depth, work),
    attempts: {
      BEGIN: () => client.query('BEGIN'),
      COMMIT: () => client.query('COMMIT'),
      'END behind a comment': () => client.query('/* */ END'),
      ROLLBACK: () => client.query('ROLLBACK'),
      'two COMMITs of one BEGIN': async () => {
        await client.query('BEGIN; COMMIT');
        await client.query('COMMIT');
      },
      'COMMIT AND CHAIN': async () => {
        await client.query('START TRANSACTION');
        await client.query('COMMIT AND CHAIN');
      },
      'PREPARE TRANSACTION': () => client.query("PREPARE TRANSACTION 'other'"),
      release: async () => client.release(true),
      end: () => client.end(),
    },
  };
}

/** As the documentation of node-postgres has it; further levels are savepoints there, too. */
async function nestedOn<T>(client: PoolClient, depth: number, work: (session: OrmSession) => Promise<T>): Promise<T> {
  const [begin, keep, undo] =
    depth === 0
      ? (['BEGIN', 'COMMIT', 'ROLLBACK'] as const)
      : (['SAVEPOINT part', 'RELEASE part', 'ROLLBACK TO part'] as const);
  await client.query(begin);
  try {
    const result = await work(sessionOn(client, depth + 1));
    await client.query(keep);
    return result;
  } catch (error) {
    await client.query(undo);
    throw error;
  }
}
