import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { Pool } from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { addFees } from '../batches.js';
import { createTables as createAuthTables, signUp } from '../better-auth.js';
import { createApp as createLoaderApp, type PaymentLoader } from '../dataloader.js';
import { createServer } from '../leaving.js';
import { createApp, createTables } from '../payments.js';
import { createDatabase, hasPostgres } from './support/databases.js';

describe('better-auth', () => {
  async function openApp() {
    const pool = createSqlitePool({ path: ':memory:' });
    const app = createApp(() => pool);
    onTestFinished(() => app.dispose());
    await createAuthTables(pool);
    const count = async (table: string) => (await pool.query(`SELECT * FROM "${table}"`)).length;
    const stored = async () => [await count('user'), await count('session'), await count('welcomes')];
    return { app, stored };
  }

  it('stores user, session and the row of the application together', async () => {
    const { app, stored } = await openApp();
    expect(await signUp(app, 'ada@example.com')).toEqual(expect.any(String));
    expect(await stored()).toEqual([1, 1, 1]);
  });

  it('stores nothing where what follows fails, so that the address is free again', async () => {
    const { app, stored } = await openApp();
    const fail = () => {
      throw new Error('no stamps');
    };
    await expect(signUp(app, 'ada@example.com', fail)).rejects.toThrow('no stamps');
    expect(await stored()).toEqual([0, 0, 0]);
    await signUp(app, 'ada@example.com');
    expect(await stored()).toEqual([1, 1, 1]);
  });
});

describe('batches', () => {
  async function openPayments(rows: number) {
    const pool = createSqlitePool({ path: ':memory:' });
    const app = createApp(() => pool);
    onTestFinished(() => app.dispose());
    await createTables(pool);
    const ids = Array.from({ length: rows }, (_, i) => String(i).padStart(7, '0'));
    await pool.query('INSERT INTO payments SELECT value, 1 FROM json_each($1)', [JSON.stringify(ids)]);
    const amounts = async () =>
      pool.query<{ amount: number; count: number }>(
        'SELECT amount, count(*) AS count FROM payments GROUP BY amount ORDER BY amount',
      );
    return { app, amounts };
  }

  it('changes each row once, in a transaction for each chunk', async () => {
    const { app, amounts } = await openPayments(10_500);
    const chunks: string[] = [];
    const signal = new AbortController().signal;
    expect(await addFees(app, { signal, onChunk: (id) => chunks.push(id) })).toBe(10_500);
    expect(chunks).toHaveLength(11);
    expect(await amounts()).toEqual([{ amount: 2, count: 10_500 }]);
  });

  it('goes on behind the last chunk of a run that was interrupted', async () => {
    const { app, amounts } = await openPayments(5000);
    const interrupt = new AbortController();
    let after = '';
    const onChunk = (id: string) => {
      after = id;
      if (id === '0002999') interrupt.abort();
    };
    await expect(addFees(app, { signal: interrupt.signal, onChunk })).rejects.toMatchObject({
      code: 'AMBIT_TX_ABORTED',
    });
    expect(await amounts()).toEqual([
      { amount: 1, count: 2000 },
      { amount: 2, count: 3000 },
    ]);
    await addFees(app, { after, signal: new AbortController().signal });
    expect(await amounts()).toEqual([{ amount: 2, count: 5000 }]);
  });
});

describe('dataloader', () => {
  it('makes one statement of the look-ups of an operation, and keeps nothing for the next one', async () => {
    const pool = createSqlitePool({ path: ':memory:' });
    const app = createLoaderApp(() => pool);
    onTestFinished(() => app.dispose());
    await createTables(pool);
    await pool.query("INSERT INTO payments VALUES ('coffee', 4)");
    const query = vi.spyOn(pool, 'query');
    for (const statements of [1, 2]) {
      await using operation = app.createScope({ tags: ['operation'] });
      const loader = operation.resolve<PaymentLoader>('IPaymentLoader');
      const loaded = await Promise.all(['coffee', 'tea', 'coffee'].map((id) => loader.load(id)));
      expect(loaded).toEqual([{ id: 'coffee', amount: 4 }, undefined, { id: 'coffee', amount: 4 }]);
      expect(query).toHaveBeenCalledTimes(statements);
    }
  });
});

describe.skipIf(!hasPostgres)('leaving', () => {
  it('runs the same class on pg, with its transaction', async () => {
    const database = await createDatabase();
    const pool = new Pool({ connectionString: database.url });
    onTestFinished(async () => {
      await pool.end();
      await database.drop();
    });
    await createTables({ query: async (sql: string) => (await pool.query(sql)).rows } as never);
    const server: Server = createServer(pool).listen(0);
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/payments`;
    const post = async (amount: number) => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ id: 'coffee', amount }) });
      return response.status;
    };
    expect(await post(-1)).toBe(500);
    expect(await post(4)).toBe(201);
    expect((await pool.query('SELECT id, amount FROM payments')).rows).toEqual([{ id: 'coffee', amount: 4 }]);
  });
});
