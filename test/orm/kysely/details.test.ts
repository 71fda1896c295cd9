import { type IConnection, type IPooledConnection, runInTransaction } from '@ambit/transaction';
import { beginTransaction } from '@ambit/transaction/host';
import { kyselyOn } from '@ambit/orm/kysely';
import { CamelCasePlugin, type Generated, type Kysely, sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type App, openApp } from '../../libraries/app.js';

interface Tables {
  notes: { id: Generated<number>; body: string };
}

const DIALECTS = { PostgreSQL: 'postgres', SQLite: 'sqlite', MariaDB: 'mysql' } as const;
const ID = { PostgreSQL: 'SERIAL', SQLite: 'INTEGER', MariaDB: 'INTEGER AUTO_INCREMENT' };

describe.each(['PostgreSQL', 'SQLite', 'MariaDB'] as const)('Kysely on %s', (kind) => {
  let app: App;

  beforeAll(async () => {
    app = await openApp(kind);
    await app.pool.query(`CREATE TABLE notes (id ${ID[kind]} PRIMARY KEY, body TEXT NOT NULL)`);
  });
  beforeEach(() => app.pool.query('DELETE FROM notes'));
  afterAll(() => app.drop());

  const inTransaction = <T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> =>
    runInTransaction(app.container, (scope) =>
      work(kyselyOn<Tables>(scope.resolve<IConnection>('IConnection'), { dialect: DIALECTS[kind] })),
    );
  const add = (db: Kysely<Tables>, body: string) => db.insertInto('notes').values({ body }).executeTakeFirstOrThrow();
  const bodies = async (): Promise<unknown[]> =>
    (await app.pool.query('SELECT body FROM notes ORDER BY id')).map(({ body }) => body);

  it('has savepoints in a controlled transaction', async () => {
    await inTransaction(async (db) => {
      const trx = await db.startTransaction().execute();
      await add(trx, 'a');
      const marked = await trx.savepoint('before "b"').execute();
      await add(marked, 'b');
      const back = await marked.rollbackToSavepoint('before "b"').execute();
      await add(back, 'c');
      await (await back.releaseSavepoint('before "b"').execute()).commit().execute();
      const undone = await db.startTransaction().execute();
      await add(undone, 'd');
      await undone.rollback().execute();
    });
    expect(await bodies()).toEqual(['a', 'c']);
  });

  it('refuses code outside of a controlled transaction until that has finished', async () => {
    await inTransaction(async (db) => {
      const trx = await db.startTransaction().execute();
      await expect(add(db, 'outside')).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
      await add(trx, 'inside');
      await trx.commit().execute();
      await add(db, 'after');
    });
    expect(await bodies()).toEqual(['inside', 'after']);
  });

  it('cannot commit while a controlled transaction is unfinished', async () => {
    const work = inTransaction(async (db) => void (await add(await db.startTransaction().execute(), 'lost')));
    await expect(work).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED' });
    expect(await bodies()).toEqual([]);
  });

  it('begins one transaction after another on one connection, and each can fail alone', async () => {
    const failing = (one: Kysely<Tables>, body: string) =>
      one.transaction().execute(async (trx) => {
        await add(trx, body);
        throw new Error(`not ${body}`);
      });
    await inTransaction((db) =>
      db.connection().execute(async (one) => {
        await one.transaction().execute((trx) => add(trx, 'a'));
        await expect(failing(one, 'b')).rejects.toThrow('not b');
        await one.transaction().execute((trx) => add(trx, 'c'));
        await expect(failing(one, 'd')).rejects.toThrow('not d');
        await expect(failing(one, 'e')).rejects.toThrow('not e');
        await add(one, 'f');
      }),
    );
    expect(await bodies()).toEqual(['a', 'c', 'f']);
  });

  it('begins one controlled transaction after another on one connection', async () => {
    await inTransaction((db) =>
      db.connection().execute(async (one) => {
        for (const body of ['a', 'b', 'c', 'd']) {
          const trx = await one.startTransaction().execute();
          const marked = await (await add(trx, body), trx.savepoint('mark').execute());
          await add(marked, 'undone');
          await (await marked.rollbackToSavepoint('mark').execute()).releaseSavepoint('mark').execute();
          await (body < 'c' ? trx.commit() : trx.rollback()).execute();
        }
        await add(one, 'e');
      }),
    );
    expect(await bodies()).toEqual(['a', 'b', 'e']);
  });

  it('refuses a second transaction on a connection until the first has finished', async () => {
    await inTransaction(async (db) => {
      const trx = await db.startTransaction().execute();
      await add(trx, 'a');
      // Kysely 0.29 refuses it by itself.
      const second = async () => (trx as Kysely<Tables>).startTransaction().execute();
      await expect(second()).rejects.toThrow(/was in progress|not supported/);
      await add(trx, 'b');
      await trx.commit().execute();
    });
    expect(await bodies()).toEqual(['a', 'b']);
  });

  it('lets the code of a connection use the IConnection and nested runs in each of its transactions', async () => {
    await runInTransaction(app.container, async (scope) => {
      const connection = scope.resolve<IConnection>('IConnection');
      const insert = (body: string) => connection.query('INSERT INTO notes (body) VALUES ($1)', [body]);
      const db = kyselyOn<Tables>(connection, { dialect: DIALECTS[kind] });
      await db.connection().execute(async (one) => {
        await one.transaction().execute(() => insert('a'));
        await runInTransaction(scope, () => one.transaction().execute(() => insert('b')));
        const undone = runInTransaction(scope, async () => {
          await one.transaction().execute(() => insert('c'));
          throw new Error('undone');
        });
        await expect(undone).rejects.toThrow('undone');
        await insert('d');
      });
    });
    expect(await bodies()).toEqual(['a', 'b', 'd']);
  });

  it('refuses an isolation level of a nested transaction, and goes on', async () => {
    await inTransaction(async (db) => {
      const nested = db
        .transaction()
        .setIsolationLevel('snapshot')
        .execute((trx) => add(trx, 'no'));
      await expect(nested).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
      const readOnly = db
        .transaction()
        .setAccessMode('read only')
        .execute((trx) => add(trx, 'no'));
      await expect(readOnly).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
      await add(db, 'yes');
    });
    expect(await bodies()).toEqual(['yes']);
  });

  it('streams inside of a nested transaction, read from outside of its callback', async () => {
    await inTransaction(async (db) => {
      for (const body of ['a', 'b', 'c']) await add(db, body);
      const trx = await db.startTransaction().execute();
      const seen: string[] = [];
      for await (const { body } of trx.selectFrom('notes').selectAll().orderBy('id').stream(1)) seen.push(body);
      expect(seen).toEqual(['a', 'b', 'c']);
      await trx.rollback().execute();
    });
  });

  it('a stream has the error of its statement', async () => {
    const work = inTransaction(async (db) => {
      for await (const _ of db
        .selectFrom('missing' as 'notes')
        .selectAll()
        .stream())
        break;
    });
    const error = {
      code: { PostgreSQL: '42P01', SQLite: 'SQLITE_ERROR', MariaDB: 'ER_NO_SUCH_TABLE' }[kind],
      query: expect.stringContaining('missing'),
    };
    await expect(work).rejects.toMatchObject(error);
  });

  it('shares a connection of the pool in connection(), and returns it', async () => {
    const db = kyselyOn<Tables>(app.pool, { dialect: DIALECTS[kind] });
    const names = await db.connection().execute(async (one) => {
      await sql`CREATE TEMPORARY TABLE mine AS SELECT 'a' AS name`.execute(one);
      const { rows } = await sql<{ name: string }>`SELECT name FROM mine`.execute(one);
      await sql`DROP TABLE mine`.execute(one);
      await expect(one.transaction().execute(async () => undefined)).rejects.toMatchObject({
        code: 'AMBIT_TX_CONTROL_STATEMENT',
      });
      await expect(sql`BEGIN`.execute(one)).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
      return rows;
    });
    expect(names).toEqual([{ name: 'a' }]);
    const { open, idle } = app.pool.size!;
    expect(idle).toBe(open);
  });

  it('takes plugins and schemas on a pool, which still begins no transaction', async () => {
    const db = kyselyOn<Tables>(app.pool, { dialect: DIALECTS[kind] }).withPlugin(new CamelCasePlugin());
    const query = sql<{ theBody: string }>`SELECT 'a' AS the_body`;
    expect((await query.execute(db)).rows).toEqual([{ theBody: 'a' }]);
    expect((await query.execute(db.withoutPlugins())).rows).toEqual([{ the_body: 'a' }]);
    const nested = db.withoutPlugins().startTransaction().execute();
    await expect(nested).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
    await db.destroy();
    expect((await query.execute(db)).rows).toHaveLength(1);
  });

  it('takes plugins, with and without', async () => {
    await runInTransaction(app.container, async (scope) => {
      const connection = scope.resolve<IConnection>('IConnection');
      const options = { dialect: DIALECTS[kind], plugins: [new CamelCasePlugin()] };
      const db = kyselyOn<Tables>(connection, options);
      const query = sql<{ theBody: string }>`SELECT 'a' AS the_body`;
      expect((await query.execute(db)).rows).toEqual([{ theBody: 'a' }]);
      expect((await query.execute(db.withoutPlugins())).rows).toEqual([{ the_body: 'a' }]);
    });
  });

  it('describes the tables', async () => {
    // It reads every schema of the database, and other tests drop theirs meanwhile.
    await vi.waitFor(async () => {
      const tables = await inTransaction((db) => db.introspection.getTables());
      expect(tables.map(({ name }) => name)).toContain('notes');
    }, 60_000);
  });

  it.skipIf(kind === 'PostgreSQL')('gives the id of an inserted row', async () => {
    const { insertId } = await inTransaction((db) => add(db, 'a'));
    expect(typeof insertId).toBe('bigint');
  });
});

it('refuses a connection that is in no transaction scope, and a dialect that is not known', async () => {
  const app = await openApp('SQLite');
  try {
    const pooled: IPooledConnection = await app.pool.getConnection();
    // @ts-expect-error A connection that was checked out is neither of the two.
    expect(() => kyselyOn(pooled)).toThrow(
      expect.objectContaining({ code: 'AMBIT_OPTION', message: expect.stringContaining('kyselyOn()') }),
    );
    pooled.release();
    const transaction = await beginTransaction(app.container);
    const unknown = { dialect: 'oracle' as 'sqlite' };
    expect(() => kyselyOn(transaction.connection, unknown)).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION' }));
    await transaction.rollback();
  } finally {
    await app.drop();
  }
});
