import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { beginTransaction } from '../src/host.js';
import { hasPostgres } from '@ambit/test-kit';
import { openPostgres, type PostgresDatabase } from './support/databases.js';
import { requestScope } from './support/requests.js';

describe.skipIf(!hasPostgres)('a connection to PostgreSQL that takes no writes', () => {
  let database: PostgresDatabase;

  beforeEach(async () => {
    database = await openPostgres();
    await database.admin.query('CREATE TABLE orders (id int PRIMARY KEY)');
  });
  afterEach(() => database.drop());

  const readOnlyUrl = (): string => {
    const url = new URL(database.url());
    url.searchParams.set('options', `${url.searchParams.get('options')} -c default_transaction_read_only=on`);
    return url.href;
  };

  test('is not handed out where the session says that it is read-only by default', async () => {
    const pool = database.pool({ connectionString: readOnlyUrl(), max: 1 });
    await expect(pool.getConnection()).rejects.toMatchObject({
      code: 'AMBIT_TX_READ_ONLY',
      sqlState: '25006',
      unavailable: true,
      status: 503,
    });
    const reader = await pool.getConnection({ readOnly: true });
    await expect(reader.query('SELECT count(*)::int AS n FROM orders')).resolves.toEqual([{ n: 0 }]);
    reader.release();
    expect(pool.size).toMatchObject({ open: 0 });
  });

  test('is handed out where any will do', async () => {
    const pool = database.pool({ connectionString: readOnlyUrl(), max: 1, targetSessionAttrs: 'any' });
    await expect(pool.query('SELECT count(*)::int AS n FROM orders')).resolves.toEqual([{ n: 0 }]);
    expect(pool.size).toMatchObject({ open: 1, idle: 1 });
  });

  test('is closed, and asks for 503, where a write finds it out', async () => {
    const pool = database.pool({ max: 1 });
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await connection.query('SET LOCAL transaction_read_only = on');
    const insert = connection.query('INSERT INTO orders VALUES (1)');
    await expect(insert).rejects.toMatchObject({ code: 'AMBIT_TX_READ_ONLY', sqlState: '25006', status: 503 });
    await connection.rollback();
    connection.release();
    expect(pool.size).toMatchObject({ open: 0 });
  });

  test('is kept, and a mistake of the caller, where read-only was asked for', async () => {
    const pool = database.pool({ max: 1 });
    const transaction = await beginTransaction(requestScope(pool), { readOnly: true });
    const insert = transaction.connection.query('INSERT INTO orders VALUES (1)');
    await expect(insert).rejects.toMatchObject({ code: 'AMBIT_TX_STATEMENT_FAILED', sqlState: '25006', status: 500 });
    await transaction.rollback();
    expect(pool.size).toMatchObject({ open: 1, idle: 1 });
  });
});
