import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Container, type IContainer } from '@ambit/container';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type * as forHosts from '../src/host.js';
import type * as own from '../src/index.js';
import { type IConnection, runInTransaction, transactionOf } from '../src/index.js';
import { beginTransaction, TransactionStart } from '../src/host.js';
import { FakePool } from '../src/testing/index.js';
import { foreign, TinyContainer } from './support/container.js';

const containers: [string, () => IContainer][] = [
  ['our container', () => new Container({ tags: ['application'] })],
  ['a container that tells its parent', () => new TinyContainer()],
  ['a container that does not', () => foreign(new TinyContainer({ defers: false }))],
];

describe.each(containers)('the transaction of a scope in %s', (_name, open) => {
  let pool: FakePool;
  let request: IContainer;

  beforeEach(() => {
    pool = new FakePool();
    const app = open();
    app.register('IDatabasePool', () => pool);
    request = app.createScope({ tags: ['request'] });
  });

  test('is that of its own scope, while it is open, while it is disposed, and after that', async () => {
    const transaction = await beginTransaction(request);
    const { scope } = transaction;
    expect(transactionOf(scope)).toBe(transaction);
    const seen: unknown[] = [];
    scope.defer?.(() => seen.push(transactionOf(scope)));
    await transaction.commit();
    expect(seen).toEqual(scope.defer ? [transaction] : []);
    expect(transactionOf(scope)).toBe(transaction);
    expect(transactionOf(scope)?.state).toBe('committed');
    expect(transactionOf(request)).toBeUndefined();
  });

  test('is that of the scope around it', async () => {
    const transaction = await beginTransaction(request);
    const step = transaction.scope.createScope({ tags: ['step'] });
    const inner = step.createScope({ tags: ['inner'] });
    expect(transactionOf(inner)).toBe(transaction);
    await transaction.rollback();
    if ('parent' in inner) expect(transactionOf(inner)).toBe(transaction);
  });

  test('is none where the application has an IConnection of its own', async () => {
    request.register<string>('IConnection', () => ({ query: async () => [] }));
    expect(transactionOf(request)).toBeUndefined();
    const transaction = await beginTransaction(request);
    expect(transactionOf(transaction.scope)).toBe(transaction);
    await transaction.commit();
  });

  test('is the only one: none begins within it, and runInTransaction() is a savepoint of it', async () => {
    const outer = await beginTransaction(request);
    const mounted = outer.scope.createScope({ tags: ['request'] });
    for (const scope of [outer.scope, mounted]) {
      const refused = { code: 'AMBIT_TX_ALREADY_OPEN', message: expect.stringContaining('runInTransaction()') };
      await expect(beginTransaction(scope)).rejects.toMatchObject(refused);
      await expect(new TransactionStart(scope).begun).rejects.toMatchObject(refused);
    }
    expect(pool.out).toBe(1);
    await runInTransaction(mounted, (scope) => scope.resolve<IConnection>('IConnection').query('INSERT order'));
    expect(pool.stored).toEqual([]);
    await outer.commit();
    expect(pool.stored).toEqual(['INSERT order']);
  });

  test('is found before the pool is asked, so that a pool of one cannot lock itself out', async () => {
    const outer = await beginTransaction(request);
    const taken = await Promise.all([pool.getConnection(), pool.getConnection(), pool.getConnection()]);
    await expect(beginTransaction(outer.scope)).rejects.toMatchObject({ code: 'AMBIT_TX_ALREADY_OPEN' });
    for (const connection of taken) connection.release();
    await outer.rollback();
  });

  describe('with two copies of this package in one tree', () => {
    let copy: Pick<typeof own, 'runInTransaction' | 'transactionOf'>;
    let copyForHosts: Pick<typeof forHosts, 'beginTransaction'>;
    let folder: string;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'ambit-copy-'));
      cpSync(fileURLToPath(new URL('../dist', import.meta.url)), folder, { recursive: true });
      writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
      copy = (await import(pathToFileURL(join(folder, 'index.js')).href)) as typeof copy;
      copyForHosts = (await import(pathToFileURL(join(folder, 'host.js')).href)) as typeof copyForHosts;
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    test('is one, whichever of them looks', async () => {
      const transaction = await beginTransaction(request);
      const { scope } = transaction;
      expect(copy.transactionOf).not.toBe(transactionOf);
      expect(copy.transactionOf(scope)).toBe(transaction);
      await expect(copyForHosts.beginTransaction(scope)).rejects.toMatchObject({ code: 'AMBIT_TX_ALREADY_OPEN' });
      await transaction.commit();
      expect(copy.transactionOf(scope)).toBe(transaction);
    });

    test('nests a run of one in that of the other, at any depth, and undoes it alone', async () => {
      await runInTransaction(request, async (scope, { signal }) => {
        const connection = scope.resolve<IConnection>('IConnection');
        await connection.query('INSERT order');
        const undone = copy.runInTransaction(scope, async (inner, attempt) => {
          expect(attempt).toMatchObject({ number: 1, signal });
          await connection.query('INSERT item');
          await runInTransaction(inner, () => connection.query('INSERT deeper'));
          throw new Error('out of stock');
        });
        await expect(Promise.all([undone, connection.query('INSERT beside')])).rejects.toMatchObject({
          code: 'AMBIT_TX_NESTED',
        });
        await expect(undone).rejects.toThrow('out of stock');
        await copy.runInTransaction(scope, () => connection.query('INSERT note'));
      });
      expect(pool.stored).toEqual(['INSERT order', 'INSERT note']);
      expect(pool.violations).toEqual([]);
    });

    test('refuses the same options of a nested run', async () => {
      const nested = runInTransaction(request, (scope) =>
        copy.runInTransaction(scope, async () => undefined, { isolation: 'serializable' }),
      );
      await expect(nested).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
    });
  });
});
