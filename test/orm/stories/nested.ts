import { type IConnection, runInTransaction, transactionOf } from '@ambit/transaction';
import { beginTransaction } from '@ambit/transaction/host';
import { expect, it } from 'vitest';
import { codeOf } from './errors.js';
import { ADA, BOB, type Stage } from './stage.js';

/** Nested transactions: savepoints on the one connection. */
export function nestingStories(stage: Stage): void {
  const { inTransaction, committedAuthors } = stage;
  const nestsByStatements = stage.orm.nestsByStatements ?? false;

  it('undoes a nested transaction that rejects, and keeps the rest', async () => {
    const failure = new Error('only this part');
    await inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      const part = session.nested(async (inner) => {
        await inner.insertAuthor(BOB);
        throw failure;
      });
      await expect(part).rejects.toBe(failure);
      expect(await session.authors()).toEqual([ADA]);
    });
    expect(await committedAuthors()).toEqual([ADA]);
  });

  it('keeps a nested transaction that resolves, unless the transaction around it is rolled back', async () => {
    await inTransaction(async (session) => {
      expect(await session.nested((inner) => inner.insertAuthor(ADA).then(() => 'result'))).toBe('result');
      expect(await session.authors()).toEqual([ADA]);
    });
    const work = inTransaction(async (session) => {
      await session.nested((inner) => inner.insertAuthor(BOB));
      throw new Error('all of it');
    });
    await expect(work).rejects.toThrow('all of it');
    expect(await committedAuthors()).toEqual([ADA]);
  });

  it('nests nested transactions', async () => {
    await inTransaction(async (session) => {
      await session.nested(async (outer) => {
        await outer.insertAuthor(ADA);
        const part = outer.nested(async (inner) => {
          await inner.insertAuthor(BOB);
          throw new Error('the innermost');
        });
        await expect(part).rejects.toThrow('the innermost');
        await outer.insertAuthor({ id: 3, name: 'Eve' });
      });
    });
    expect(await committedAuthors()).toEqual([ADA, { id: 3, name: 'Eve' }]);
  });

  it('does not mix up two nested transactions that are started at once: the undone one takes nothing of the other', async () => {
    const outcomes = await inTransaction((session) =>
      Promise.allSettled([
        session.nested(async (inner) => {
          await inner.insertAuthor(ADA);
          await inner.authors();
          throw new Error('undone');
        }),
        session.nested((inner) => inner.insertAuthor(BOB)),
      ]),
    );
    expect(outcomes[0]).toMatchObject({ status: 'rejected', reason: { message: 'undone' } });
    // Either the ORM waits with the second, or it is refused; Bob is stored where it was fulfilled, and only there.
    if (outcomes[1].status === 'rejected') expect(codeOf(outcomes[1].reason)).toBe('AMBIT_TX_NESTED');
    expect(await committedAuthors()).toEqual(outcomes[1].status === 'fulfilled' ? [BOB] : []);
  });

  it.runIf(nestsByStatements)(
    'refuses the IConnection and callbacks while a nested transaction is in progress',
    async () => {
      await inTransaction(async (session, scope) => {
        const connection = scope.resolve<IConnection>('IConnection');
        await session.nested(async (inner) => {
          await inner.insertAuthor(ADA);
          await expect(connection.query('SELECT 1')).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
          expect(() => transactionOf(scope)?.afterCommit(() => undefined)).toThrow('outside of the nested run');
          expect(await inner.authors()).toEqual([ADA]);
        });
        expect(await connection.query('SELECT id FROM authors')).toEqual([{ id: 1 }]);
      });
    },
  );

  it.skipIf(nestsByStatements)(
    'lets the code of a nested transaction use the IConnection, and undoes its statements, too',
    async () => {
      await inTransaction(async (session, scope) => {
        const connection = scope.resolve<IConnection>('IConnection');
        const part = session.nested(async () => {
          await connection.query("INSERT INTO authors (id, name) VALUES (1, 'Ada')");
          throw new Error('undone');
        });
        await expect(part).rejects.toThrow('undone');
        expect(await session.authors()).toEqual([]);
      });
    },
  );

  it.skipIf(nestsByStatements)(
    'drops what a nested transaction wanted to do after COMMIT when it is undone',
    async () => {
      const called: string[] = [];
      await inTransaction(async (session, scope) => {
        const nested = (name: string, fails: boolean): Promise<void> =>
          session.nested(async (inner) => {
            await inner.authors();
            transactionOf(scope)?.afterCommit(() => void called.push(name));
            if (fails) throw new Error('undone');
          });
        await nested('kept', false);
        await expect(nested('undone', true)).rejects.toThrow('undone');
      });
      expect(called).toEqual(['kept']);
    },
  );

  it('runs in a nested runInTransaction(), and is undone with it', async () => {
    await inTransaction(async (session, scope) => {
      await session.insertAuthor(ADA);
      const part = runInTransaction(scope, async () => {
        await session.insertAuthor(BOB);
        throw new Error('undone');
      });
      await expect(part).rejects.toThrow('undone');
    });
    expect(await committedAuthors()).toEqual([ADA]);
  });

  it('continues after a failed statement in a nested transaction', async () => {
    await inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      await expect(session.nested((inner) => inner.insertAuthor(ADA))).rejects.toThrow();
      await session.insertAuthor(BOB);
    });
    expect(await committedAuthors()).toEqual([ADA, BOB]);
  });

  it('rolls back when the transaction is rolled back inside a nested transaction', async () => {
    const transaction = await beginTransaction(stage.app.container);
    const session = await stage.opened.session(transaction.scope);
    const part = session.nested(async (inner) => {
      await inner.insertAuthor(ADA);
      await transaction.rollback();
      await inner.insertAuthor(BOB);
    });
    await expect(part).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_FINISHED');
    expect(await committedAuthors()).toEqual([]);
  });
}
