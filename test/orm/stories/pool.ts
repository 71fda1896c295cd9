import { type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { transactionCheck } from '@ambit/transaction/check';
import { sandbox } from '@ambit/transaction/testing';
import { describe, expect, it } from 'vitest';
import { codeOf } from './errors.js';
import type { OrmSession } from './orm.js';
import { ADA, BOB, NOTES, type Stage } from './stage.js';

/** The same library on a pool: single statements outside of transactions. */
export function poolStories(stage: Stage): void {
  // Entity ORMs have it in another way; the stage is open when a test runs.
  describe.runIf(['Kysely', 'Drizzle', 'Knex', 'pg'].includes(stage.orm.name))('on a pool', () => {
    const on = (pool: IDatabasePool = stage.app.pool): OrmSession => stage.opened.onPool!(pool);

    it('commits each statement by itself, and reads what others have committed', async () => {
      await on().insertAuthor(ADA);
      expect(await stage.committedAuthors()).toEqual([ADA]);
      await on().insertBook(NOTES);
      expect(await on().booksWithAuthors()).toEqual([{ book: { id: 1, name: 'Notes' }, author: ADA }]);
      expect(await on().renameAuthors([1], 'Eve')).toBe(1);
      expect(await on().authorNamed('Eve')).toEqual([{ id: 1, name: 'Eve' }]);
    });

    it.runIf(stage.orm.streams)('streams', async () => {
      for (const author of [ADA, BOB]) await on().insertAuthor(author);
      const seen: unknown[] = [];
      for await (const author of on().stream!()) seen.push(author);
      expect(seen).toEqual([ADA, BOB]);
    });

    it('begins no transaction, says what to do, and neither stores anything nor keeps a connection', async () => {
      const nested = on().nested((inner) => inner.insertAuthor(ADA));
      await expect(nested).rejects.toSatisfy((error: Error) => /runInTransaction\(\)/.test(error.message));
      await expect(nested).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_CONTROL_STATEMENT');
      for (const attempt of Object.values(on().attempts)) await attempt().catch(() => undefined);
      expect(await stage.committedAuthors()).toEqual([]);
      expect(stage.app.pool.size).toMatchObject({ waiting: 0 });
      await on().insertAuthor(BOB);
      expect(await stage.committedAuthors()).toEqual([BOB]);
    });

    it('refuses a transaction without a wait, also while the only writer is taken', async () => {
      await stage.inTransaction(async (session) => {
        await session.insertAuthor(ADA);
        await expect(on().nested((inner) => inner.authors())).rejects.toSatisfy(
          (error) => codeOf(error) === 'AMBIT_TX_CONTROL_STATEMENT',
        );
      });
      expect(await stage.committedAuthors()).toEqual([ADA]);
    });

    it('works in a sandbox, beside transactions in it, and is undone with it', async () => {
      const box = await sandbox(stage.app.pool);
      const container = stage.app.container.createScope();
      container.register('IDatabasePool', () => box);
      await on(box).insertAuthor(ADA);
      await runInTransaction(container, async (scope) => {
        const session = await stage.opened.session(scope);
        await session.insertAuthor(BOB);
      });
      expect(await on(box).authors()).toEqual([ADA, BOB]);
      await expect(on(box).insertAuthor(ADA)).rejects.toThrow();
      expect(await on(box).authors()).toEqual([ADA, BOB]);
      await box.rollback();
      expect(await stage.committedAuthors()).toEqual([]);
    });

    it.skipIf(stage.hasOneConnection)(
      'is seen by the transaction check, as a statement outside of the open transaction',
      async () => {
        await using check = new AsyncDisposableStack();
        const findings: string[] = [];
        // How long a transaction is idle goes by how busy the machine is.
        const transactions = transactionCheck({
          gapMs: Infinity,
          report: ({ kind, sql }) => void findings.push(`${kind}: ${sql}`),
        });
        check.defer(() => transactions.stop());
        const pool = transactions.pool(stage.app.pool);
        const container = stage.app.container.createScope();
        container.register('IDatabasePool', () => pool);
        await runInTransaction(container, async (scope) => {
          await scope.resolve<IConnection>('IConnection').query('SELECT 1');
          await on(pool).authors();
        });
        expect(findings).toEqual([expect.stringMatching(/^outside-statement: select/i)]);
      },
    );
  });
}
