import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type IDatabasePool, TransactionError } from '../src/index.js';
import { beginTransaction } from '../src/host.js';
import { hasPostgres } from '@ambit/test-kit';
import { openPostgres, type PostgresDatabase } from './support/databases.js';
import { openTransactionScopes, requestScope } from './support/requests.js';

const TRANSACTIONS = 600;
const WORKERS = 12;
const CONNECTIONS = 6;

describe.skipIf(!hasPostgres)('while backends are killed all the time', () => {
  let database: PostgresDatabase;
  let pool: IDatabasePool;

  beforeEach(async () => {
    database = await openPostgres();
    await database.admin.query('CREATE TABLE orders (id int PRIMARY KEY)');
    pool = database.pool({ max: CONNECTIONS, applicationName: 'ambit storm' });
  });
  afterEach(() => database.drop());

  test('every acknowledged transaction is stored, every refused one is not, and the pool stays whole', async () => {
    const request = requestScope(pool);
    const acknowledged = new Set<number>();
    const refused = new Set<number>();
    const codes = new Map<string, number>();
    let next = 0;
    const storm = { running: WORKERS };

    const order = async (id: number): Promise<void> => {
      const client = new AbortController();
      if (id % 7 === 0) setImmediate(() => client.abort());
      const transaction = await beginTransaction(request, { signal: client.signal, onError: () => undefined });
      try {
        await transaction.connection.query('INSERT INTO orders VALUES ($1)', [id]);
        if (id % 3 === 0) await transaction.connection.query('SELECT pg_sleep(0.002)');
        await transaction.commit();
      } catch (error) {
        await transaction.rollback(error);
        throw error;
      }
    };
    const worker = async (): Promise<void> => {
      while (next < TRANSACTIONS) {
        const id = (next += 1);
        try {
          await order(id);
          acknowledged.add(id);
        } catch (error) {
          const { code } = error as TransactionError;
          expect(error).toBeInstanceOf(TransactionError);
          codes.set(code, (codes.get(code) ?? 0) + 1);
          if (code !== 'AMBIT_TX_OUTCOME_UNKNOWN') refused.add(id);
        }
      }
      storm.running -= 1;
    };
    const killer = async (): Promise<void> => {
      const sql =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ambit storm' ORDER BY random() LIMIT 1";
      while (storm.running > 0) await database.admin.query(sql);
    };
    await Promise.all([...Array.from({ length: WORKERS }, worker), killer()]);

    const { rows } = await database.admin.query<{ id: number }>('SELECT id FROM orders');
    const stored = new Set(rows.map(({ id }) => id));
    expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([]);
    expect([...refused].filter((id) => stored.has(id))).toEqual([]);
    expect(acknowledged.size + refused.size + (codes.get('AMBIT_TX_OUTCOME_UNKNOWN') ?? 0)).toBe(TRANSACTIONS);
    expect(openTransactionScopes(request)).toBe(0);
    const all = await Promise.all(Array.from({ length: CONNECTIONS }, () => pool.getConnection()));
    all.forEach((connection) => connection.release());
    expect(pool.size).toMatchObject({ waiting: 0 });
  });
});
