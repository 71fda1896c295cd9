import { type IConnection } from '@ambit/transaction';
import { assert, expect, it } from 'vitest';
import { ADA, BOB, NOTES, type Stage } from './stage.js';

/** Statements: what they read and change, and how many rows. */
export function statementStories(stage: Stage): void {
  const { inTransaction, committedAuthors } = stage;

  it('reads what it inserts, and COMMIT stores it', async () => {
    const seen = await inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      return session.authors();
    });
    expect(seen).toEqual([ADA]);
    expect(await committedAuthors()).toEqual([ADA]);
  });

  it('stores nothing when the work rejects', async () => {
    const failure = new Error('changed my mind');
    const work = inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      throw failure;
    });
    await expect(work).rejects.toBe(failure);
    expect(await committedAuthors()).toEqual([]);
  });

  it('sees what a statement on the IConnection has changed, and the other way round', async () => {
    await inTransaction(async (session, scope) => {
      const connection = scope.resolve<IConnection>('IConnection');
      await connection.query('INSERT INTO authors (id, name) VALUES ($1, $2)', [ADA.id, ADA.name]);
      await session.insertAuthor(BOB);
      expect(await session.authors()).toEqual([ADA, BOB]);
      expect(await connection.query('SELECT id FROM authors ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }]);
    });
  });

  it('keeps the columns of a join apart where their names are equal', async () => {
    const rows = await inTransaction(async (session) => {
      await session.insertAuthor({ id: 7, name: 'Ada' });
      await session.insertBook({ id: 1, authorId: 7, name: 'Notes' });
      return session.booksWithAuthors();
    });
    expect(rows).toEqual([{ book: { id: 1, name: 'Notes' }, author: { id: 7, name: 'Ada' } }]);
  });

  it('reports how many rows a statement changed', async () => {
    await inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      await session.insertAuthor(BOB);
      expect(await session.renameAuthors([1, 2, 3], 'Eve')).toBe(2);
      expect(await session.renameAuthors([3], 'Eve')).toBe(0);
      expect(await session.authors()).toEqual([
        { id: 1, name: 'Eve' },
        { id: 2, name: 'Eve' },
      ]);
    });
  });

  it('has an optimistic lock: of two changes to one version, the second finds no row', async () => {
    await inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      await session.insertBook(NOTES);
    });
    expect(await inTransaction((session) => session.renameBook(1, 1, 'First'))).toBe(true);
    expect(await inTransaction((session) => session.renameBook(1, 1, 'Second'))).toBe(false);
    expect(await stage.app.pool.query('SELECT name, version FROM books')).toEqual([{ name: 'First', version: 2 }]);
  });

  it('runs raw SQL with parameters', async () => {
    const found = await inTransaction(async (session) => {
      await session.insertAuthor({ id: 1, name: "O'Neil" });
      await session.insertAuthor(BOB);
      return session.authorNamed("O'Neil");
    });
    expect(found).toEqual([{ id: 1, name: "O'Neil" }]);
  });

  it('takes statements that are sent at once', async () => {
    await inTransaction(async (session) => {
      const authors = Array.from({ length: 20 }, (_, index) => ({ id: index + 1, name: `Author ${index}` }));
      await Promise.all(authors.map((author) => session.insertAuthor(author)));
      expect(await session.authors()).toEqual(authors);
    });
    expect(await committedAuthors()).toHaveLength(20);
  });

  it.skipIf(!stage.orm.streams)(
    'streams rows, also where the reader stops early, and works on after that',
    async () => {
      await inTransaction(async (session) => {
        const { stream } = session;
        assert(stream);
        for (let id = 1; id <= 250; id += 1) await session.insertAuthor({ id, name: `Author ${id}` });
        const ids: number[] = [];
        for await (const { id } of stream()) ids.push(id);
        expect(ids).toEqual(Array.from({ length: 250 }, (_, index) => index + 1));
        for await (const { id } of stream()) if (id === 3) break;
        expect(await session.renameAuthors([1], 'First')).toBe(1);
      });
    },
  );
}
