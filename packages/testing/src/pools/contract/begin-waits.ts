import { beforeEach, describe, expect } from 'vitest';
import type { PoolSuite } from './suite.js';

/** A BEGIN waits while another pool of the database writes. */
export function beginWaitsContract(suite: PoolSuite): void {
  const { it, each, bodies, begin, commit, rollback } = suite;

  describe.each(suite.kind.beginWaits ? ['another pool'] : [])('while %s holds the lock to write', () => {
    let unlock: () => Promise<void>;
    beforeEach(async () => {
      const other = await suite.database.pool();
      const holder = await other.getConnection();
      await holder.beginTransaction();
      unlock = async () => {
        await rollback(holder);
      };
    });

    const expectNoTransaction = async (): Promise<void> => {
      await suite.pool.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['acknowledged']);
      const next = await begin();
      await rollback(next);
      expect(await bodies()).toEqual(['acknowledged']);
    };

    it('waits with BEGIN, and begins as soon as the lock is free', async () => {
      const connection = await suite.pool.getConnection();
      const begun = connection.beginTransaction();
      await unlock();
      await begun;
      await connection.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['kept']);
      await commit(connection);
      expect(await bodies()).toEqual(['kept']);
    });

    each(
      'runs no BEGIN of a connection that was %s while it waited',
      [
        ['cancelled', true, false],
        ['released', false, true],
        ['cancelled and released', true, true],
      ] as const,
      async ([, isCancelled, isReleased]) => {
        const connection = await suite.pool.getConnection();
        const begun = connection.beginTransaction();
        if (isCancelled) connection.cancel?.();
        if (isReleased) connection.release();
        await unlock();
        await expect(begun).rejects.toBeInstanceOf(Error);
        if (!isReleased) connection.release();
        await expectNoTransaction();
      },
    );

    it('begins for the next user after a connection was released while its BEGIN waited', async () => {
      const first = await suite.pool.getConnection();
      const abandoned = first.beginTransaction().catch((error: unknown) => error);
      first.cancel?.();
      first.release();
      const next = await suite.pool.getConnection();
      const begun = next.beginTransaction();
      await unlock();
      await begun;
      expect(await abandoned).toBeInstanceOf(Error);
      await next.query('INSERT INTO notes (id, body) VALUES (1, $1)', ['kept']);
      await commit(next);
      expect(await bodies()).toEqual(['kept']);
    });

    it('runs no BEGIN after the pool was closed', async () => {
      const connection = await suite.pool.getConnection();
      const outcome = connection.beginTransaction().catch((error: unknown) => error);
      await suite.pool.close();
      await unlock();
      expect(await outcome).toBeInstanceOf(Error);
      connection.release();
    });
  });
}
