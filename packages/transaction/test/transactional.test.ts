import { Container, currentScope, runInScope } from '@ambit/container';
import { inScope } from '@ambit/container/work';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { afterCommit, type IConnection, transactionOf } from '../src/index.js';
import { beginTransaction } from '../src/host.js';
import { type FakeFault, FakePool } from '../src/testing/index.js';
import { transactional } from '../src/transactional.js';

const fine: FakeFault = { ms: 0, kind: 'none' };

describe('transactional()', () => {
  let faults: FakeFault[];
  let pool: FakePool;
  let app: Container;

  beforeEach(() => {
    faults = [];
    pool = new FakePool({ faultAt: (point) => (point === 'query' ? (faults.shift() ?? fine) : fine) });
    app = new Container({ tags: ['application'] });
    app.register('IDatabasePool', () => pool);
  });
  async function expectNothingLeft(): Promise<void> {
    await app.dispose();
    expect([pool.out, pool.violations]).toEqual([0, []]);
  }
  afterEach(expectNothingLeft);

  const query = (sql: string): Promise<unknown> => currentScope().resolve<IConnection>('IConnection').query(sql);
  const inRequest = <T>(work: () => Promise<T>): Promise<T> => inScope(app, { tags: ['request'], current: true }, work);

  test('runs the function in a transaction of the current scope, with its arguments, its result and its this', async () => {
    const orders = {
      table: 'orders',
      place: transactional(async function (this: { table: string }, id: number) {
        await query(`INSERT ${this.table} ${id}`);
        return id;
      }),
    };
    await expect(inRequest(() => orders.place(7))).resolves.toBe(7);
    expect(pool.stored).toEqual(['INSERT orders 7']);
  });

  test('rolls back and rejects with what the function throws, async or not', async () => {
    const fail = transactional((): void => {
      throw new Error('out of stock');
    });
    await expect(inRequest(() => fail())).rejects.toThrow('out of stock');
  });

  test('runs any number of calls at once in one scope, each in a transaction of its own', async () => {
    const place = transactional((id: number) => query(`INSERT ${id}`));
    await inRequest(async () => {
      // Begun one after the other, and none has committed before the last one begins.
      const open = [0, 1].map(() => beginTransaction(currentScope()));
      await Promise.all(open);
      await place(1);
      for (const transaction of open) await (await transaction).rollback();
    });
    expect(pool.stored).toEqual(['INSERT 1']);
  });

  test('calls it again with the same arguments where the transaction is retried', async () => {
    faults = [{ ms: 0, kind: 'conflict' }];
    const seen: string[] = [];
    const place = transactional(
      async (id: string) => {
        seen.push(id);
        await query(`INSERT ${id}`);
      },
      { backoffMs: 0 },
    );
    await inRequest(() => place('a'));
    expect(seen).toEqual(['a', 'a']);
  });

  test('nests within another, and takes a propagation', async () => {
    const undone = transactional(async () => {
      await query('undone');
      throw new Error('undone');
    });
    const audit = transactional(() => query('audit'), { propagation: 'requires-new' });
    const place = transactional(async () => {
      const outer = currentScope();
      await query('order');
      await undone().catch(() => undefined);
      await audit();
      expect(currentScope()).toBe(outer);
    });
    await inRequest(() => place());
    expect(pool.stored).toEqual(['audit', 'order']);
  });

  test('may be called in an afterCommit callback, where it begins a transaction with the scope around', async () => {
    const note = transactional(() => query('note'));
    const place = transactional(async () => {
      await query('order');
      afterCommit(currentScope(), () => note(), { before: 'response' });
    });
    await inRequest(() => place());
    expect(pool.stored).toEqual(['order', 'note']);
  });

  test('leaves the current scope of its caller as it was', async () => {
    const request = app.createScope({ tags: ['request'] });
    await runInScope(request, async () => {
      await transactional(async () => expect(transactionOf(currentScope())?.state).toBe('open'))();
      expect(currentScope()).toBe(request);
    });
    await request.dispose();
  });

  test('rejects where there is no current scope', async () => {
    const place = transactional(() => query('order'));
    await expect(place()).rejects.toMatchObject({ code: 'AMBIT_NO_SCOPE' });
  });
});
