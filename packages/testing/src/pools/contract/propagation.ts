import { Container, type IContainer } from '@ambit/container';
import { expect } from 'vitest';
import { unchecked } from '@ambit/transaction/check';
import { type IConnection, type IDatabasePool, type Propagation, runInTransaction } from '@ambit/transaction';
import type { PoolSuite } from './suite.js';

/** Runs join a transaction, or have a connection beside it. */
export function propagationContract(suite: PoolSuite): void {
  const { it } = suite;

  const { hasOneConnection = false, hasSeveralWriters = false } = suite.kind;

  it('runs supports in a transaction, requires-new and not-supported beside it, or says what it waits for', async () => {
    const two = await suite.database.pool({ max: 2, ...(hasOneConnection && { acquireTimeoutMs: 500 }) });
    await two.query('CREATE TABLE runs (line VARCHAR(20))');
    const app = new Container();
    app.register('IDatabasePool', () => two);
    const lines = async (of: Pick<IDatabasePool, 'query'>): Promise<string[]> => {
      const rows = await of.query<{ line: string }>('SELECT line FROM runs ORDER BY line');
      return rows.map(({ line }) => line);
    };
    const add = (propagation: Propagation, line: string, scope: IContainer): Promise<unknown> =>
      runInTransaction(
        scope,
        (inner) => {
          const where = inner.resolve<Pick<IDatabasePool, 'query'>>(inner === app ? 'IDatabasePool' : 'IConnection');
          return where.query('INSERT INTO runs VALUES ($1)', [line]);
        },
        { propagation },
      );

    await add('supports', 'alone', app);
    await add('not-supported', 'alone, too', app);
    expect(await lines(two)).toEqual(['alone', 'alone, too']);

    const failure = new Error('undone');
    const outside = ['alone', 'alone, too', ...(hasSeveralWriters ? ['beside'] : [])];
    let beside: unknown;
    const outer = runInTransaction(app, async (scope) => {
      const read = (around: IContainer): Promise<unknown> => lines(around.resolve<IDatabasePool>('IDatabasePool'));
      await add('supports', 'joined', scope);
      if (hasSeveralWriters) await unchecked(() => add('requires-new', 'beside', scope));
      beside = await unchecked(() => runInTransaction(scope, read, { propagation: 'not-supported' })).catch(
        (error: unknown) => error,
      );
      await add('supports', 'joined, too', scope);
      expect(await lines(scope.resolve<IConnection>('IConnection'))).toContain('joined, too');
      throw failure;
    });
    await expect(outer).rejects.toBe(failure);
    if (!hasOneConnection) expect(beside).toEqual(outside);
    else {
      expect(beside).toMatchObject({ code: 'AMBIT_TX_ACQUIRE_TIMEOUT', status: 503 });
      expect((beside as Error).message).toContain('A not-supported run needs a second connection');
    }
    expect(await lines(two)).toEqual(outside);

    const half = runInTransaction(app, async (scope) => {
      await add('supports', 'half', scope);
      const part = runInTransaction(scope, () => Promise.reject(failure), { propagation: 'supports' });
      await expect(part).rejects.toBe(failure);
    });
    await expect(half).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED', cause: failure });
    expect(await lines(two)).toEqual(outside);
  });
}
