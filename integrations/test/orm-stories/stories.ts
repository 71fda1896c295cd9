import type { IContainer } from '@ambit/container';
import { beginTransaction, type IConnection, runInTransaction, transactionOf } from '@ambit/transaction';
import { afterAll, assert, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type App, openApp } from '../support/app.js';
import type { DatabaseKind } from '../support/databases.js';
import { codeOf } from './errors.js';
import { type OpenOrm, type Orm, type OrmSession, SAMPLE } from './orm.js';
import { createTables, emptyTables } from './tables.js';

const ADA = { id: 1, name: 'Ada' };
const BOB = { id: 2, name: 'Bob' };
const NOTES = { id: 1, authorId: 1, name: 'Notes' };

/** What every ORM must do on a transaction's connection, on each database that it supports. */
export function ormStories(orm: Orm): void {
  describe.each(orm.databases)(`${orm.name} on %s`, (kind) => {
    storiesOn(orm, kind);
  });
}

function storiesOn(orm: Orm, kind: DatabaseKind): void {
  let app: App;
  let opened: OpenOrm;

  beforeAll(async () => {
    app = await openApp(kind);
    await createTables(app);
    opened = await orm.open(app);
  });
  beforeEach(() => emptyTables(app.pool));
  afterAll(async () => {
    await opened.close?.();
    await app.drop();
  });

  /** Runs the work in a transaction, with the ORM in its scope. */
  const inTransaction = <T>(
    work: (session: OrmSession, scope: IContainer) => Promise<T>,
    options: { signal?: AbortSignal } = {},
  ): Promise<T> => runInTransaction(app.container, async (scope) => work(await opened.session(scope), scope), options);

  /** What is committed, read past the ORM. */
  const committedAuthors = (): Promise<object[]> => app.pool.query('SELECT id, name FROM authors ORDER BY id');

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
    expect(await app.pool.query('SELECT name, version FROM books')).toEqual([{ name: 'First', version: 2 }]);
  });

  it('undoes a nested transaction that rejects, and keeps the rest', async () => {
    const failure = new Error('only this part');
    await inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      const part = session.nested(async (inner) => {
        await inner.insertAuthor(BOB);
        throw failure;
      });
      await expect(part).rejects.toBe(failure);
      expect(await session.authors()).toEqual([ADA]);
    });
    expect(await committedAuthors()).toEqual([ADA]);
  });

  it('keeps a nested transaction that resolves, unless the transaction around it is rolled back', async () => {
    await inTransaction(async (session) => {
      expect(await session.nested((inner) => inner.insertAuthor(ADA).then(() => 'result'))).toBe('result');
      expect(await session.authors()).toEqual([ADA]);
    });
    const work = inTransaction(async (session) => {
      await session.nested((inner) => inner.insertAuthor(BOB));
      throw new Error('all of it');
    });
    await expect(work).rejects.toThrow('all of it');
    expect(await committedAuthors()).toEqual([ADA]);
  });

  it('nests nested transactions', async () => {
    await inTransaction(async (session) => {
      await session.nested(async (outer) => {
        await outer.insertAuthor(ADA);
        const part = outer.nested(async (inner) => {
          await inner.insertAuthor(BOB);
          throw new Error('the innermost');
        });
        await expect(part).rejects.toThrow('the innermost');
        await outer.insertAuthor({ id: 3, name: 'Eve' });
      });
    });
    expect(await committedAuthors()).toEqual([ADA, { id: 3, name: 'Eve' }]);
  });

  it('does not mix up two nested transactions that are started at once: the undone one takes nothing of the other', async () => {
    const outcomes = await inTransaction((session) =>
      Promise.allSettled([
        session.nested(async (inner) => {
          await inner.insertAuthor(ADA);
          await inner.authors();
          throw new Error('undone');
        }),
        session.nested((inner) => inner.insertAuthor(BOB)),
      ]),
    );
    expect(outcomes[0]).toMatchObject({ status: 'rejected', reason: { message: 'undone' } });
    // Either the ORM waits with the second, or it is refused; Bob is stored where it was fulfilled, and only there.
    if (outcomes[1].status === 'rejected') expect(codeOf(outcomes[1].reason)).toBe('AMBIT_TX_NESTED');
    expect(await committedAuthors()).toEqual(outcomes[1].status === 'fulfilled' ? [BOB] : []);
  });

  it('lets the code of a nested transaction use the IConnection, and undoes its statements, too', async () => {
    await inTransaction(async (session, scope) => {
      const connection = scope.resolve<IConnection>('IConnection');
      const part = session.nested(async () => {
        await connection.query("INSERT INTO authors (id, name) VALUES (1, 'Ada')");
        throw new Error('undone');
      });
      await expect(part).rejects.toThrow('undone');
      expect(await session.authors()).toEqual([]);
    });
  });

  it('drops what a nested transaction wanted to do after COMMIT when it is undone', async () => {
    const called: string[] = [];
    await inTransaction(async (session, scope) => {
      const nested = (name: string, fails: boolean): Promise<void> =>
        session.nested(async (inner) => {
          await inner.authors();
          transactionOf(scope)?.afterCommit(() => void called.push(name));
          if (fails) throw new Error('undone');
        });
      await nested('kept', false);
      await expect(nested('undone', true)).rejects.toThrow('undone');
    });
    expect(called).toEqual(['kept']);
  });

  it('runs in a nested runInTransaction(), and is undone with it', async () => {
    await inTransaction(async (session, scope) => {
      await session.insertAuthor(ADA);
      const part = runInTransaction(scope, async () => {
        await session.insertAuthor(BOB);
        throw new Error('undone');
      });
      await expect(part).rejects.toThrow('undone');
    });
    expect(await committedAuthors()).toEqual([ADA]);
  });

  it('cannot commit after a failed statement, also where the code ignores the failure', async () => {
    const work = inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      await expect(session.insertAuthor(ADA)).rejects.toThrow();
      await expect(session.authors()).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_FAILED');
    });
    await expect(work).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED' });
    expect(await committedAuthors()).toEqual([]);
  });

  it('continues after a failed statement in a nested transaction', async () => {
    await inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      await expect(session.nested((inner) => inner.insertAuthor(ADA))).rejects.toThrow();
      await session.insertAuthor(BOB);
    });
    expect(await committedAuthors()).toEqual([ADA, BOB]);
  });

  it('is aborted with the signal, and stores nothing', async () => {
    const abort = new AbortController();
    const work = inTransaction(
      async (session) => {
        await session.insertAuthor(ADA);
        abort.abort(new Error('the client disconnected'));
        await expect(session.insertAuthor(BOB)).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_ABORTED');
      },
      { signal: abort.signal },
    );
    await expect(work).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    expect(await committedAuthors()).toEqual([]);
  });

  it.each(['commit', 'rollback'] as const)('refuses every use after the %s', async (how) => {
    const transaction = await beginTransaction(app.container);
    const session = await opened.session(transaction.scope);
    await session.insertAuthor(ADA);
    await transaction[how]();
    await expect(session.insertAuthor(BOB)).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_ENDED');
    await expect(session.authors()).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_ENDED');
    await expect(session.nested((inner) => inner.authors())).rejects.toSatisfy(
      (error) => codeOf(error) === 'AMBIT_TX_ENDED',
    );
    expect(await committedAuthors()).toEqual(how === 'commit' ? [ADA] : []);
  });

  it('refuses every use after the scope was disposed, which rolls back', async () => {
    const request = app.container.createScope({ tags: ['request'] });
    const transaction = await beginTransaction(request);
    const session = await opened.session(transaction.scope);
    await session.insertAuthor(ADA);
    await request.dispose();
    await expect(session.authors()).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_ENDED');
    expect(await committedAuthors()).toEqual([]);
  });

  it('rolls back when the transaction is rolled back inside a nested transaction', async () => {
    const transaction = await beginTransaction(app.container);
    const session = await opened.session(transaction.scope);
    const part = session.nested(async (inner) => {
      await inner.insertAuthor(ADA);
      await transaction.rollback();
      await inner.insertAuthor(BOB);
    });
    await expect(part).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_ENDED');
    expect(await committedAuthors()).toEqual([]);
  });

  it('runs raw SQL with parameters', async () => {
    const found = await inTransaction(async (session) => {
      await session.insertAuthor({ id: 1, name: "O'Neil" });
      await session.insertAuthor(BOB);
      return session.authorNamed("O'Neil");
    });
    expect(found).toEqual([{ id: 1, name: "O'Neil" }]);
  });

  it.each([
    ['dates', 'at'],
    ['bigints', 'big'],
    ['JSON', 'data'],
    ['booleans', 'yes'],
    ['null', 'missing'],
  ] as const)("stores %s, and gives them in the ORM's own types", async (_title, column) => {
    const given = await inTransaction(async (session) => {
      await session.insertSample(SAMPLE);
      return session.sample();
    });
    expect(given[column]).toEqual(orm.gives(kind)[column]);
  });

  it.skipIf(!orm.streams)('streams rows, also where the reader stops early, and works on after that', async () => {
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
  });

  it('takes statements that are sent at once', async () => {
    await inTransaction(async (session) => {
      const authors = Array.from({ length: 20 }, (_, index) => ({ id: index + 1, name: `Author ${index}` }));
      await Promise.all(authors.map((author) => session.insertAuthor(author)));
      expect(await session.authors()).toEqual(authors);
    });
    expect(await committedAuthors()).toHaveLength(20);
  });

  it('cannot begin, commit or roll back the transaction by any means', async () => {
    const attempts = await inTransaction(async (session) => Object.keys(session.attempts));
    const outcomes = new Map<string, unknown>();
    for (const attempt of attempts) {
      const transaction = await beginTransaction(app.container);
      const session = await opened.session(transaction.scope);
      await session.insertAuthor(ADA);
      await session.attempts[attempt]?.().catch(() => undefined);
      const { state } = transaction;
      const seenByOthers = await committedAuthors();
      await transaction.rollback();
      outcomes.set(attempt, { state, seenByOthers, stored: await committedAuthors() });
    }
    const untouched = { state: 'open', seenByOthers: [], stored: [] };
    expect(outcomes).toEqual(new Map(attempts.map((attempt) => [attempt, untouched])));
  });
}
