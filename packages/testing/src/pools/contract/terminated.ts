import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import type { DatabaseConnection } from '@ambit/transaction';
import type { PoolSuite } from './suite.js';

/** PostgreSQL closes connections by itself, and refuses what conflicts. */
export function terminatedContract(suite: PoolSuite): void {
  const { it, bodies, begin, rollback } = suite;

  const terminated = async (): Promise<DatabaseConnection> => {
    const connection = await begin();
    await connection.query('INSERT INTO notes (id, body) VALUES ($1, $2)', [1, 'gone']);
    const [session] = await connection.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const other = await suite.database.pool({ max: 1 });
    await connection.query("SET LOCAL idle_in_transaction_session_timeout = '20ms'");
    const isThere = 'SELECT 1 FROM pg_stat_activity WHERE pid = $1';
    while ((await other.query(isThere, [session?.pid])).length > 0) await pause(10);
    await other.close();
    // The socket may receive the end of the session a moment later.
    await pause(100);
    await new Promise(setImmediate);
    return connection;
  };
  const notSent = { code: 'AMBIT_TX_CONNECTION_LOST', sqlState: '08003', status: 503 };

  it('sends nothing on a connection that the server has closed, and opens another', async () => {
    const connection = await terminated();
    await expect(connection.query('SELECT 1')).rejects.toMatchObject(notSent);
    await expect(connection.commit()).rejects.toMatchObject(notSent);
    connection.release();
    expect(await bodies()).toEqual([]);
  });
  it('says that a conflict is temporary, of a statement as of COMMIT', async () => {
    await suite.pool.query(
      `CREATE FUNCTION conflict() RETURNS trigger AS $$ BEGIN RAISE SQLSTATE '40001'; END $$ LANGUAGE plpgsql`,
    );
    const at = `AFTER INSERT ON notes DEFERRABLE INITIALLY`;
    const temporary = { sqlState: '40001', status: 503, statusCode: 503, retryable: true, unavailable: true };
    await suite.pool.query(
      `CREATE CONSTRAINT TRIGGER conflicting ${at} DEFERRED FOR EACH ROW EXECUTE FUNCTION conflict()`,
    );
    await expect(suite.pool.query('INSERT INTO notes (id) VALUES (1)')).rejects.toMatchObject(temporary);
    const connection = await begin();
    await connection.query('INSERT INTO notes (id) VALUES (1)');
    await expect(connection.commit()).rejects.toMatchObject(temporary);
    await connection.beginTransaction();
    await connection.query('SET CONSTRAINTS ALL IMMEDIATE');
    await expect(connection.query('INSERT INTO notes (id) VALUES (1)')).rejects.toMatchObject(temporary);
    await rollback(connection);
  });
  it('names the reason for which the server has closed the connection', async () => {
    const connection = await terminated();
    for (const use of [() => connection.query('SELECT 1'), () => connection.commit()]) {
      const error = (await use().catch((reason: unknown) => reason)) as Error;
      expect(error.message).toContain('(25P03)');
      expect(error.message).not.toContain('timeout');
      const cause = { code: '25P03', message: expect.stringContaining('idle-in-transaction timeout') as string };
      expect(error.cause).toMatchObject(cause);
    }
    connection.release();
  });
}
