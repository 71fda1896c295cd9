import { expect } from 'vitest';
import type { PoolSuite } from './suite.js';

/** Callers check connections out, wait for them and release them; a pool that closes waits for them. */
export function connectionContract(suite: PoolSuite): void {
  const { it, each, bodies, begin, commit, rollback } = suite;

  it('refuses a second release, and the next user keeps the connection', async () => {
    const first = await suite.pool.getConnection();
    first.release();
    const second = await suite.pool.getConnection();
    expect(() => first.release()).toThrow(expect.objectContaining({ code: 'AMBIT_TX_FINISHED' }));
    const third = suite.pool.getConnection({ timeoutMs: 20 });
    await expect(third).rejects.toMatchObject({ code: 'AMBIT_TX_ACQUIRE_TIMEOUT' });
    second.release();
  });

  it('refuses every use after the release', async () => {
    const connection = await suite.pool.getConnection();
    connection.release();
    const used = { code: 'AMBIT_TX_FINISHED' };
    await expect(connection.query('SELECT 1')).rejects.toMatchObject(used);
    await expect(connection.beginTransaction()).rejects.toMatchObject(used);
    await expect(connection.commit()).rejects.toMatchObject(used);
    await expect(connection.rollback()).rejects.toMatchObject(used);
  });

  it('stops waiting for a connection after the acquire time-out, and leaks no place', async () => {
    const first = await suite.pool.getConnection();
    const waiting = suite.pool.getConnection({ timeoutMs: 20 });
    expect(suite.pool.size?.waiting).toBe(1);
    await expect(waiting).rejects.toMatchObject({ code: 'AMBIT_TX_ACQUIRE_TIMEOUT', unavailable: true });
    first.release();
    const next = await suite.pool.getConnection();
    next.release();
    expect(suite.pool.size).toMatchObject({ waiting: 0 });
  });

  it('refuses at once when too many wait already, and serves those who do', async () => {
    const small = await suite.database.pool({ max: 1, maxWaiting: 2 });
    const first = await small.getConnection();
    const waiting = [small.getConnection(), small.getConnection()];
    const full = { code: 'AMBIT_TX_POOL_FULL', unavailable: true, retryable: false, status: 503 };
    await expect(small.getConnection()).rejects.toMatchObject(full);
    await expect(small.query('CREATE TABLE more (id INTEGER)')).rejects.toMatchObject(full);
    expect(small.size?.waiting).toBe(2);
    first.release();
    for (const next of waiting) (await next).release();
    await small.query('CREATE TABLE more (id INTEGER)');
    expect(small.size).toMatchObject({ waiting: 0 });
  });

  it('stops waiting when the signal says so', async () => {
    const first = await suite.pool.getConnection();
    const client = new AbortController();
    const waiting = suite.pool.getConnection({ signal: client.signal });
    client.abort(new Error('the client disconnected'));
    await expect(waiting).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    await expect(suite.pool.getConnection({ signal: client.signal })).rejects.toMatchObject({
      code: 'AMBIT_TX_ABORTED',
    });
    first.release();
    (await suite.pool.getConnection()).release();
  });

  it('serves those who wait in the order they came', async () => {
    const first = await suite.pool.getConnection();
    const order: number[] = [];
    const waiting = [1, 2, 3].map(async (number) => {
      const connection = await suite.pool.getConnection();
      order.push(number);
      connection.release();
    });
    first.release();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2, 3]);
  });

  each('refuses a time limit of %j for getConnection()', [Number.NaN, -1, '5'], async (timeoutMs) => {
    const holder = await suite.pool.getConnection();
    const asking = suite.pool.getConnection({ timeoutMs: timeoutMs as number });
    await expect(asking).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
    holder.release();
  });

  it('does not let a failed statement affect the next user', async () => {
    const connection = await begin();
    await connection.query('SELECT * FROM no_such_table').catch(() => undefined);
    await rollback(connection);
    expect(await bodies()).toEqual([]);
  });

  each(
    'waits only so long for connections that are checked out, and refuses them a late %s()',
    ['commit', 'query'] as const,
    async (late) => {
      const connection = await begin();
      await suite.pool.close();
      const used = late === 'commit' ? connection.commit() : connection.query('SELECT 1');
      await expect(used).rejects.toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED', status: 503 });
    },
  );

  it('accepts a late rollback(), which closing has done, and a late release(), once', async () => {
    const connection = await begin();
    await suite.pool.close();
    await rollback(connection);
    const released = { code: 'AMBIT_TX_FINISHED' };
    expect(() => connection.release()).toThrow(expect.objectContaining(released));
    await expect(connection.query('SELECT 1')).rejects.toMatchObject(released);
  });

  it('closes once the connections in use are released, and hands out none after that', async () => {
    suite.pool = await suite.database.pool({ max: 1, closeTimeoutMs: 10_000 });
    const connection = await suite.pool.getConnection();
    const closing = suite.pool.close();
    await expect(suite.pool.getConnection()).rejects.toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED', unavailable: true });
    await expect(suite.pool.query('SELECT 1')).rejects.toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED' });
    await connection.beginTransaction();
    await commit(connection);
    await closing;
    expect(suite.pool.close()).toBe(closing);
  });
}
