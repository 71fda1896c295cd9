import type { BeginOptions, IDatabasePool, IPooledConnection } from '../contract.js';
import { splitStatements } from '../sql/split-statements.js';

/**
 * Runs the statements of a text in one transaction, for a migration and for tests. A single statement runs by itself: it needs no
 * transaction, and MariaDB has none around CREATE TABLE.
 *
 * @param pool - where the connection comes from
 * @param script - statements with a semicolon after each
 * @throws `TransactionError` `AMBIT_TX_STATEMENT_FAILED`: the database refused one, such as because a table exists; nothing is kept
 * @throws what `getConnection()` and `query()` of the pool, and BEGIN and COMMIT on its connection, throw
 */
export async function runScript(pool: Pick<IDatabasePool, 'getConnection' | 'query'>, script: string): Promise<void> {
  const statements = splitStatements(script);
  if (statements.length === 1) return void (await pool.query(statements.join()));
  await runOnPool(pool, async (connection) => {
    for (const statement of statements) await connection.query(statement);
  });
}

/**
 * Runs work in a transaction on a connection of its own, for what has a pool and no scope, such as a relay or a migration. Nothing is
 * retried. Where the work, BEGIN or COMMIT fails, the connection is closed, which rolls back.
 *
 * @param pool - where the connection comes from
 * @param work - receives the connection
 * @param options - how the transaction begins
 * @returns what the work returns
 * @throws what the work, `getConnection()` of the pool, and BEGIN and COMMIT on its connection throw
 */
export async function runOnPool<T>(
  pool: Pick<IDatabasePool, 'getConnection'>,
  work: (connection: IPooledConnection) => Promise<T>,
  options: BeginOptions = {},
): Promise<T> {
  // A call runs in the context of its caller until its first `await`, and the caller may go on without this transaction.
  await Promise.resolve();
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction(options);
    const result = await work(connection);
    await connection.commit();
    connection.release();
    return result;
  } catch (error) {
    connection.release(true);
    throw error;
  }
}
