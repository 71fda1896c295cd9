import { expect } from 'vitest';
import type { DatabaseConnection } from '@ambit/transaction';
import type { PoolSuite } from './suite.js';

/** A transaction is stored whole or not at all. */
export function transactionContract(suite: PoolSuite): void {
  const { it, bodies, begin, commit, rollback } = suite;

  it('stores what is committed', async () => {
    const connection = await begin();
    await connection.query('INSERT INTO notes (id, body) VALUES ($1, $2)', [1, 'kept']);
    await commit(connection);
    expect(await bodies()).toEqual(['kept']);
  });

  it('forgets what is rolled back', async () => {
    const connection = await begin();
    await connection.query('INSERT INTO notes (id, body) VALUES ($1, $2)', [1, 'gone']);
    await rollback(connection);
    expect(await bodies()).toEqual([]);
  });

  it('rolls back a connection that is released in a transaction, or destroys it', async () => {
    const connection = await begin();
    await connection.query('INSERT INTO notes (id, body) VALUES ($1, $2)', [1, 'gone']);
    connection.release();
    expect(await bodies()).toEqual([]);
  });

  it('refuses an isolation level that it does not know, and has not begun then', async () => {
    const connection = await suite.pool.getConnection();
    const beginning = connection.beginTransaction({ isolation: 'serializable; DROP TABLE notes' as 'serializable' });
    await expect(beginning).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
    await connection.beginTransaction({ isolation: 'repeatable read' });
    await commit(connection);
  });

  it('does not write in a read-only transaction, and writes again after it', async () => {
    const connection = await suite.pool.getConnection({ readOnly: true });
    await connection.beginTransaction({ readOnly: true });
    await expect(connection.query('INSERT INTO notes (id) VALUES (1)')).rejects.toMatchObject({
      sqlState: '25006',
    });
    await rollback(connection);
    await suite.pool.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['a']);
    expect(await bodies()).toEqual(['a']);
  });

  it('keeps savepoints through query()', async () => {
    const connection = await begin();
    await connection.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['kept']);
    await connection.query('SAVEPOINT half');
    await connection.query('INSERT INTO notes (id, body) VALUES (2, $1)', ['gone']);
    await connection.query('ROLLBACK TO SAVEPOINT half');
    await connection.query('RELEASE SAVEPOINT half');
    await commit(connection);
    expect(await bodies()).toEqual(['kept']);
  });

  it('stores all or nothing when a statement failed before commit(), and says which', async () => {
    const connection = await begin();
    await connection.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['kept']);
    await connection.query('SELECT * FROM no_such_table').catch(() => undefined);
    const refusal = await connection.commit().catch((error: unknown) => error);
    connection.release();
    if (refusal) expect(refusal).toMatchObject({ code: 'AMBIT_TX_COMMIT_FAILED', sqlState: '40000' });
    expect(await bodies()).toEqual(refusal ? [] : ['kept']);
  });

  /** On SQLite the second INSERT rolls the whole transaction back; elsewhere it is an error in the text. */
  const afterConflict = async (): Promise<DatabaseConnection> => {
    const connection = await begin();
    await connection.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['first']);
    await connection.query('INSERT OR ROLLBACK INTO notes (id) VALUES (1)').catch(() => undefined);
    return connection;
  };

  it('stores all or nothing when the database has rolled the transaction back by itself', async () => {
    const connection = await afterConflict();
    await connection.query('INSERT INTO notes (id, body) VALUES (2, $1)', ['second']).catch(() => undefined);
    const refusal = await connection.commit().catch((error: unknown) => error);
    connection.release();
    if (refusal) expect(refusal).toMatchObject({ code: expect.any(String), sqlState: '40000' });
    expect(await bodies()).toEqual(refusal ? [] : ['first', 'second']);
  });

  it('begins again where the database has rolled the transaction back, and only there', async () => {
    const connection = await afterConflict();
    const refusal = await connection.beginTransaction().catch((error: unknown) => error);
    if (refusal) expect(refusal).toMatchObject({ code: 'AMBIT_TX_ALREADY_OPEN' });
    else await connection.query('INSERT INTO notes (id, body) VALUES (2, $1)', ['again']);
    await (refusal ? connection.rollback() : connection.commit());
    connection.release();
    expect(await bodies()).toEqual(refusal ? [] : ['again']);
  });

  if (suite.kind.hasSeveralWriters) {
    it('stores nothing of a transaction that the database has undone to end a deadlock', async () => {
      await suite.pool.query('CREATE TABLE shelves (id INTEGER PRIMARY KEY, body VARCHAR(20))');
      await suite.pool.query("INSERT INTO shelves VALUES (1, 'a'), (2, 'b')");
      const both = await suite.database.pool({ max: 2 });
      const connections = [await both.getConnection(), await both.getConnection()];
      for (const connection of connections) await connection.beginTransaction();
      const update = (connection: DatabaseConnection, id: number, body: string): Promise<unknown> =>
        connection.query('UPDATE shelves SET body = $1 WHERE id = $2', [body, id]);
      for (const [index, connection] of connections.entries()) await update(connection, index + 1, `first ${index}`);
      const outcomes = await Promise.allSettled(
        connections.map((connection, index) => update(connection, 2 - index, `second ${index}`)),
      );
      const victim = outcomes.findIndex(({ status }) => status === 'rejected');
      expect(outcomes[victim]).toMatchObject({ reason: { retryable: true, status: 503 } });
      expect(outcomes[1 - victim]).toMatchObject({ status: 'fulfilled' });
      for (const [index, connection] of connections.entries()) {
        const late = connection.query('INSERT INTO shelves (id) VALUES ($1)', [index + 3]);
        const committing = late.catch(() => undefined).then(() => connection.commit());
        if (index === victim) await expect(committing).rejects.toMatchObject({ status: expect.any(Number) as number });
        else await committing;
        connection.release();
      }
      const rows = await suite.pool.query('SELECT id, body FROM shelves ORDER BY id');
      const survivor = 1 - victim;
      const bodiesNow = survivor === 0 ? ['first 0', 'second 0'] : ['second 1', 'first 1'];
      expect(rows).toEqual([
        { id: 1, body: bodiesNow[0] },
        { id: 2, body: bodiesNow[1] },
        { id: survivor + 3, body: null },
      ]);
    });
  }

  it('refuses a second beginTransaction() while the first transaction is open, and commits the first', async () => {
    const connection = await begin();
    await connection.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['kept']);
    await expect(connection.beginTransaction()).rejects.toMatchObject({ code: 'AMBIT_TX_ALREADY_OPEN' });
    await commit(connection);
    await expect(connection.beginTransaction()).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
    expect(await bodies()).toEqual(['kept']);
  });
}
