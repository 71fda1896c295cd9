import { type IConnection, runInTransaction } from '@ambit/transaction';
import { knexOn, type KnexOptions } from '@ambit/orm/knex';
import type { Knex } from 'knex';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type App, openApp } from '../../libraries/app.js';

const CLIENTS = { PostgreSQL: 'pg', SQLite: 'sqlite3' } as const;
const ID = { PostgreSQL: 'SERIAL PRIMARY KEY', SQLite: 'INTEGER PRIMARY KEY' };

describe.each(['PostgreSQL', 'SQLite'] as const)('Knex on %s', (kind) => {
  let app: App;

  beforeAll(async () => {
    app = await openApp(kind);
    await app.pool.query(`CREATE TABLE notes (id ${ID[kind]}, body TEXT NOT NULL)`);
  });
  beforeEach(() => app.pool.query('DELETE FROM notes'));
  afterAll(() => app.drop());

  const inTransaction = <T>(work: (db: Knex) => Promise<T>, options: KnexOptions = {}): Promise<T> =>
    runInTransaction(app.container, (scope) =>
      work(knexOn(scope.resolve<IConnection>('IConnection'), { client: CLIENTS[kind], ...options })),
    );
  const bodies = async (): Promise<unknown[]> =>
    (await app.pool.query('SELECT body FROM notes ORDER BY id')).map(({ body }) => body);

  it('keeps SQL out of the messages of errors, and gives it to those who listen', async () => {
    const heard: string[] = [];
    const work = inTransaction(async (db) => {
      db.on('query-error', ({ message }: Error) => void heard.push(message));
      await db('notes').insert({ id: 1, body: 'secret' });
      await db('notes').insert({ id: 1, body: 'secret' });
    });
    const [{ reason: error }] = (await Promise.allSettled([work])) as [PromiseRejectedResult];
    expect(error).toMatchObject({ sqlState: '23505', query: expect.stringMatching(/^insert into .*\$2\)$/) });
    expect(error.message).not.toMatch(/insert|secret/i);
    expect(JSON.stringify(error.query)).not.toContain('secret');
    expect(heard).toEqual([expect.stringContaining('insert into')]);
  });

  it('refuses an empty query, as Knex does', async () => {
    const work = inTransaction(async (db) => db.raw(''));
    await expect(work).rejects.toThrow('The query is empty');
  });

  it.each(['with a cursor', 'without'])('a stream has the error of its statement, %s', async (how) => {
    const work = inTransaction(async (db) => {
      await db('notes').insert({ id: 1, body: 'a' });
      const failing = how === 'without' ? db('notes').insert({ id: 1, body: 'b' }) : db('missing').select();
      for await (const _ of failing.stream()) break;
    });
    const sqlState = how === 'without' ? '23505' : kind === 'PostgreSQL' ? '42P01' : expect.any(String);
    await expect(work).rejects.toMatchObject({ sqlState, query: expect.stringMatching(/notes|missing/) });
  });

  it('undoes a transaction that was handed out, and keeps another', async () => {
    await inTransaction(async (db) => {
      const undone = await db.transaction();
      await undone('notes').insert({ body: 'undone' });
      await undone.rollback();
      const kept = await db.transaction();
      await expect(db('notes').select()).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
      await kept('notes').insert({ body: 'kept' });
      await kept.savepoint((inner) => inner('notes').insert({ body: 'inside' }));
      await kept.commit();
    });
    expect(await bodies()).toEqual(['kept', 'inside']);
  });

  it.runIf(kind === 'PostgreSQL')('refuses an isolation level of a nested transaction, and goes on', async () => {
    await inTransaction(async (db) => {
      const nested = db.transaction(async () => undefined, { isolationLevel: 'serializable' });
      await expect(nested).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
      await db('notes').insert({ body: 'a' });
    });
    expect(await bodies()).toEqual(['a']);
  });

  it('inserts in batches, and takes options of Knex', async () => {
    const postProcessResponse = (response: unknown) => (Array.isArray(response) ? response.length : response);
    const count = await inTransaction(
      async (db) => {
        await db.batchInsert('notes', [{ body: 'a' }, { body: 'b?' }, { body: 'c' }], 2);
        return db('notes').whereRaw("body LIKE '%\\?' OR body = ?", ['a']);
      },
      { postProcessResponse },
    );
    expect(count).toBe(2);
  });

  it.runIf(kind === 'SQLite')('gives the id of an inserted row', async () => {
    expect(await inTransaction(async (db) => db('notes').insert({ id: 7, body: 'a' }))).toEqual([7]);
  });

  it.runIf(kind === 'PostgreSQL')('streams what writes, and raw SQL', async () => {
    await inTransaction(async (db) => {
      const seen: unknown[] = [];
      for await (const row of db('notes')
        .insert([{ body: 'a' }, { body: 'b' }])
        .returning('body')
        .stream())
        seen.push(row);
      for await (const row of db.raw('SELECT body FROM notes WHERE body = ?', ['b']).stream()) seen.push(row);
      expect(seen).toEqual([{ body: 'a' }, { body: 'b' }, { body: 'b' }]);
    });
  });
});
