import { channel } from 'node:diagnostics_channel';
import { AsyncLocalStorage } from 'node:async_hooks';
import { signal } from '@ambit/test-kit';
import { expect, it } from 'vitest';
import { runInTransaction, type Transaction } from '../../src/index.js';
import { runOnPool } from '../../src/extension.js';
import { beginTransaction } from '../../src/host.js';
import { connectionOf, kindsOf, useCheckedApps } from './support.js';

const checkedApp = useCheckedApps();
const turn = (): Promise<void> => new Promise(setImmediate);

it('does not report a branch beside the transaction, however long both run', async () => {
  const { app, pool, check } = checkedApp();
  const statements = async (name: string): Promise<void> => {
    for (let run = 0; run < 10; run++) {
      await pool.query(`SELECT ${name}${run}`);
      await turn();
    }
  };
  await Promise.all([
    statements('before'),
    runInTransaction(app, async (scope) => {
      for (let run = 0; run < 10; run++) {
        await connectionOf(scope).query(`INSERT a${run}`);
        await turn();
      }
    }),
    statements('after'),
    beginAndCommit(),
    runInTransaction(app, () => turn()),
  ]);
  expect(kindsOf({ check })).toEqual([]);

  async function beginAndCommit(): Promise<void> {
    await turn();
    const transaction = await beginTransaction(app);
    await turn();
    await transaction.commit();
  }
});

it('does not report who has started work on the pool and goes on without it, such as at the start of a relay', async () => {
  const { pool, check } = checkedApp();
  const [begun, end] = [signal(), signal()];
  const work = runOnPool(pool, () => {
    begun.resolve();
    return end.promise;
  });
  await begun.promise;
  await pool.query('SELECT 1');
  end.resolve();
  await work;
  expect(kindsOf({ check })).toEqual([]);
});

it('reports the branches within a transaction', async () => {
  const { app, pool, check } = checkedApp();
  await runInTransaction(app, async (scope) => {
    await Promise.all([connectionOf(scope).query('INSERT a'), turn().then(() => pool.query('SELECT 1'))]);
  });
  expect(kindsOf({ check })).toEqual(['outside-statement']);
});

it('knows a transaction that was begun without a callback, until it commits or rolls back', async () => {
  const { app, pool, check } = checkedApp();
  const transaction = await beginTransaction(app);
  await turn();
  await pool.query('SELECT 1');
  expect(kindsOf({ check })).toEqual(['outside-statement']);
  await transaction.commit();
  await pool.query('SELECT 2');
  const second = await beginTransaction(app);
  await second.rollback();
  await pool.query('SELECT 3');
  expect(check.findings).toHaveLength(1);
});

it('knows a transaction that a called function has begun, at the latest from its first statement on', async () => {
  const { app, pool, check } = checkedApp();
  const open = async (): Promise<Transaction> => {
    await turn();
    return beginTransaction(app);
  };
  const transaction = await open();
  await transaction.connection.query('INSERT a');
  await pool.query('SELECT 1');
  await transaction.commit();
  expect(kindsOf({ check })).toEqual(['outside-statement']);
});

it('does not report statements in a savepoint, nor in a second transaction itself', async () => {
  const { app, check } = checkedApp({ allow: [{ kind: 'second-connection' }] });
  await runInTransaction(app, async (outer) => {
    await runInTransaction(outer, () => connectionOf(outer).query('INSERT a'));
    await runInTransaction(app, async (inner) => {
      await connectionOf(inner).query('INSERT b');
      await connectionOf(outer).query('INSERT c');
    });
    await connectionOf(outer).query('INSERT d');
  });
  expect(kindsOf({ check })).toEqual([]);
});

it('reports a transaction that fails to begin nothing more', async () => {
  const { app, pool, check } = checkedApp();
  await pool.close();
  await expect(beginTransaction(app)).rejects.toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED' });
  await expect(pool.query('SELECT 1')).rejects.toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED' });
  expect(kindsOf({ check })).toEqual([]);
});

it('does not report what a timer of a transaction does after it', async () => {
  const { app, pool, check } = checkedApp();
  let later: Promise<unknown> | undefined;
  await runInTransaction(app, async () => {
    later = turn()
      .then(turn)
      .then(turn)
      .then(() => pool.query('SELECT 1'));
  });
  await later;
  expect(kindsOf({ check })).toEqual([]);
});

it('keeps no transaction that is over in the context of a long loop', async () => {
  const { app, check } = checkedApp();
  const refs: WeakRef<object>[] = [];
  for (let run = 0; run < 50; run++) {
    const transaction = await beginTransaction(app);
    refs.push(new WeakRef(transaction.scope));
    await transaction.commit();
  }
  expect(kindsOf({ check })).toEqual([]);
});

it('leaves other stores of asynchronous contexts alone', async () => {
  const { app } = checkedApp();
  const storage = new AsyncLocalStorage<string>();
  await storage.run('mine', () => runInTransaction(app, async () => expect(storage.getStore()).toBe('mine')));
});

it.each(['context', 'unchecked', 'finding'])('leaves no subscriber of ambit:transaction:%s when it stops', (name) => {
  const { check } = checkedApp();
  check.stop();
  expect(channel(`ambit:transaction:${name}`).hasSubscribers).toBe(false);
});

it('finds nothing more after stop(), and the pool works on', async () => {
  const { app, pool, raw, check } = checkedApp();
  check.stop();
  await runInTransaction(app, async (scope) => {
    await connectionOf(scope).query('INSERT a');
    await pool.query('INSERT b');
  });
  expect([check.findings, raw.stored.toSorted()]).toEqual([[], ['INSERT a', 'INSERT b']]);
});
