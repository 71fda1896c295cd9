import { setTimeout as delay } from 'node:timers/promises';
import { hasPostgres, openSchema, type PostgresSchema, signal } from '@ambit/test-kit';
import { transformSync } from 'esbuild';
import { Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pageOf } from './pages.js';

type Query = (text: string) => Promise<unknown>;
type Transfer = (from: string, to: string, cents: number) => Promise<void>;
interface Programs {
  'no-transaction-on-pool': { transfer: Transfer };
  'no-parallel-queries-in-transaction': { transfer: Transfer };
  'no-caught-failure-in-transaction': { pay(account: string, cents: number, receipt: string): Promise<void> };
  'no-pool-in-transaction': { place(product: string): Promise<void> };
  'no-shared-transaction': {
    database: { query: Query; transaction(work: (client?: { query: Query }) => Promise<void>): Promise<void> };
  };
  'restore-outer-transaction': {
    context: { run(store: object, work: () => Promise<void>): Promise<void> };
    query: Query;
    transaction(work: () => Promise<unknown>): Promise<void>;
  };
}

let schema: PostgresSchema;
let loaded = 0;
const pools: Pool[] = [];

/** The wrong or the right program of docs/rules.md, on a pool of this test. */
async function programOf<R extends keyof Programs>(rule: R, kind: 'wrong' | 'right'): Promise<Programs[R]> {
  const url = new URL(schema.url());
  // A transaction that is left open would hold its locks forever.
  url.searchParams.set('options', `${url.searchParams.get('options') ?? ''} -c lock_timeout=200`);
  pools.push(new Pool({ connectionString: url.href }));
  Reflect.set(globalThis, Symbol.for('doctor.pool'), pools.at(-1));
  const text = pageOf(rule)[kind].replace('new Pool()', "globalThis[Symbol.for('doctor.pool')]");
  const { code } = transformSync(`${text}\n// ${(loaded += 1)}`, { loader: 'ts', legalComments: 'inline' });
  return (await import(
    /* @vite-ignore */ `data:text/javascript,${encodeURIComponent(code)}//${loaded}`
  )) as Programs[R];
}

const numberOf = async (query: string): Promise<number> =>
  Number((await schema.admin.query<{ n: string }>(`SELECT ${query} AS n`)).rows[0]?.n);
const money = () => numberOf('(SELECT sum(cents) FROM accounts)');

describe.skipIf(!hasPostgres).each([
  ['wrong', { lost: true }],
  ['right', { lost: false }],
] as const)('the %s programs of docs/rules.md on PostgreSQL', (kind, { lost }) => {
  beforeEach(async () => {
    schema = await openSchema();
    await schema.admin.query(`
      CREATE TABLE accounts (name text PRIMARY KEY, cents int CHECK (cents >= 0));
      CREATE TABLE receipts (id text PRIMARY KEY);
      CREATE TABLE products (name text PRIMARY KEY, stock int CHECK (stock >= 0));
      CREATE TABLE orders (product text);
      INSERT INTO accounts SELECT 'a' || n, 100 FROM generate_series(0, 19) n;
      INSERT INTO receipts VALUES ('r1');
      INSERT INTO products VALUES ('apple', 0);
    `);
  });
  afterEach(async () => {
    vi.useRealTimers();
    await Promise.all(pools.splice(0).map((pool) => pool.end()));
    await schema.drop();
  });

  it(`transfers at the same time ${lost ? 'lose or make' : 'keep the'} money`, async () => {
    const { transfer } = await programOf('no-transaction-on-pool', kind);
    const account = (n: number) => `a${n % 20}`;
    await Promise.allSettled(
      Array.from({ length: 200 }, (_, n) => transfer(account(n), account(n * 7 + 3), 10 + ((n * 13) % 70))),
    );
    await Promise.all(pools.splice(0).map((pool) => pool.end()));
    expect((await money()) !== 2000).toBe(lost);
  });

  it(`a transfer without cover ${lost ? 'makes' : 'makes no'} money where debit and credit run at once`, async () => {
    const { transfer } = await programOf('no-parallel-queries-in-transaction', kind);
    // The bank responds after the debit was refused, however long that takes.
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    await expect(transfer('a0', 'a1', 500)).rejects.toThrow('accounts_cents_check');
    vi.advanceTimersByTime(20);
    await expect.poll(money).toBe(lost ? 2500 : 2000);
  });

  it(`a payment whose receipt is there already ${lost ? 'is lost' : 'is kept'}`, async () => {
    const { pay } = await programOf('no-caught-failure-in-transaction', kind);
    await pay('a0', 60, 'r1');
    expect(await money()).toBe(lost ? 2000 : 1940);
  });

  it(`an order that was refused ${lost ? 'stays' : 'is rolled back'}`, async () => {
    const { place } = await programOf('no-pool-in-transaction', kind);
    await expect(place('apple')).rejects.toThrow('products_stock_check');
    expect(await numberOf('(SELECT count(*) FROM orders)')).toBe(lost ? 1 : 0);
  });

  it(`a row of one request ${lost ? 'is rolled back with another one' : 'stays'}`, async () => {
    const { database } = await programOf('no-shared-transaction', kind);
    const begun: string[] = [];
    const [inserted, refused] = [signal(), signal()];
    const add = (id: string, then: () => Promise<void>) =>
      database.transaction(async (client = database) => {
        begun.push(id);
        while (begun.length < 2) await delay(5);
        await client.query(`INSERT INTO receipts VALUES ('${id}')`);
        await then();
      });
    const stored = add('r2', () => {
      inserted.resolve();
      return refused.promise;
    });
    while (begun.length === 0) await delay(5);
    const fails = add('r3', async () => {
      await inserted.promise;
      throw new Error('refused');
    });
    await expect(fails).rejects.toThrow('refused');
    refused.resolve();
    await stored;
    expect(await numberOf(`(SELECT count(*) FROM receipts WHERE id = 'r2')`)).toBe(lost ? 0 : 1);
  });

  it(`a row that follows a nested transaction ${lost ? 'stays' : 'is rolled back'} when the outer one fails`, async () => {
    const { context, query, transaction } = await programOf('restore-outer-transaction', kind);
    const work = async () => {
      await transaction(() => query(`INSERT INTO receipts VALUES ('r2')`));
      await query(`INSERT INTO orders VALUES ('apple')`);
      await query('UPDATE products SET stock = stock - 1');
    };
    const run = context.run({ client: undefined }, () => transaction(work));
    await expect(run).rejects.toThrow('products_stock_check');
    expect(await numberOf('(SELECT count(*) FROM orders)')).toBe(lost ? 1 : 0);
  });
});
