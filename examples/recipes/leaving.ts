// Leaving Ambit: the classes stay as they are, since they know nothing of it but an object with query(); the wiring is your own again.
import express, { type Express } from 'express';
import type { Pool, PoolClient } from 'pg';
import { Payments } from './payments.ts';

/** The part of `IConnection` that repositories use, over a client of `pg`. */
export const connectionOf = (client: Pool | PoolClient) => ({
  query: async <Row extends object>(sql: string, params: readonly unknown[] = []): Promise<Row[]> =>
    (await client.query<Row>(sql, [...params])).rows,
});

/** Takes the place of `withTransaction()`, for handlers that return what they respond with. It does not see a client that leaves, nor a time limit. */
export async function inTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let isBroken = false;
  try {
    await client.query('BEGIN');
    const result = await work(client);
    const { command } = await client.query('COMMIT');
    if (command !== 'COMMIT') throw new Error('The database rolled back');
    return result;
  } catch (error) {
    // A connection that cannot roll back must not be used again.
    await client.query('ROLLBACK').catch(() => (isBroken = true));
    throw error;
  } finally {
    client.release(isBroken);
  }
}

export function createServer(pool: Pool): Express {
  // The process would exit when PostgreSQL closes an idle connection, if nobody listened.
  pool.on('error', (error) => console.error('a connection was lost', error.message));
  const app = express().use(express.json());
  app.post('/payments', async (req, res) => {
    const payment = req.body as { id: string; amount: number };
    await inTransaction(pool, (client) => new Payments(connectionOf(client)).store(payment));
    res.status(201).json(payment);
  });
  return app;
}
