import { beginTransaction } from '@ambit/transaction/host';
import { expect, it } from 'vitest';
import { codeOf } from './errors.js';
import { ADA, BOB, type Stage } from './stage.js';

/** Failures, and what comes after COMMIT or ROLLBACK: nothing of the ORM commits, and nothing works afterwards. */
export function failureStories(stage: Stage): void {
  const { inTransaction, committedAuthors } = stage;

  it('cannot commit after a failed statement, also where the code ignores the failure', async () => {
    const work = inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      await expect(session.insertAuthor(ADA)).rejects.toThrow();
      await expect(session.authors()).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_FAILED');
    });
    await expect(work).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED' });
    expect(await committedAuthors()).toEqual([]);
  });

  it('is aborted with the signal, and stores nothing', async () => {
    const abort = new AbortController();
    const work = inTransaction(
      async (session) => {
        await session.insertAuthor(ADA);
        abort.abort(new Error('the client disconnected'));
        await expect(session.insertAuthor(BOB)).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_ABORTED');
      },
      { signal: abort.signal },
    );
    await expect(work).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    expect(await committedAuthors()).toEqual([]);
  });

  it.each(['commit', 'rollback'] as const)('refuses every use after the %s', async (how) => {
    const transaction = await beginTransaction(stage.app.container);
    const session = await stage.opened.session(transaction.scope);
    await session.insertAuthor(ADA);
    await transaction[how]();
    await expect(session.insertAuthor(BOB)).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_FINISHED');
    await expect(session.authors()).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_FINISHED');
    await expect(session.nested((inner) => inner.authors())).rejects.toSatisfy(
      (error) => codeOf(error) === 'AMBIT_TX_FINISHED',
    );
    expect(await committedAuthors()).toEqual(how === 'commit' ? [ADA] : []);
  });

  it('refuses every use after the scope was disposed, which rolls back', async () => {
    const request = stage.app.container.createScope({ tags: ['request'] });
    const transaction = await beginTransaction(request);
    const session = await stage.opened.session(transaction.scope);
    await session.insertAuthor(ADA);
    await request.dispose();
    await expect(session.authors()).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_FINISHED');
    expect(await committedAuthors()).toEqual([]);
  });

  it('cannot begin, commit or roll back the transaction by any means', async () => {
    const attempts = await inTransaction(async (session) => Object.keys(session.attempts));
    const outcomes = new Map<string, unknown>();
    for (const attempt of attempts) {
      const transaction = await beginTransaction(stage.app.container);
      const session = await stage.opened.session(transaction.scope);
      await session.insertAuthor(ADA);
      await session.attempts[attempt]?.().catch(() => undefined);
      const { state } = transaction;
      const seenByOthers = stage.hasOneConnection ? [] : await committedAuthors();
      await transaction.rollback();
      outcomes.set(attempt, { state, seenByOthers, stored: await committedAuthors() });
    }
    const untouched = { state: 'open', seenByOthers: [], stored: [] };
    expect(outcomes).toEqual(new Map(attempts.map((attempt) => [attempt, untouched])));
  });
}

/** What the application sees of a statement that the database refused. */
export function errorStories(stage: Stage): void {
  const { inTransaction, orm, kind } = stage;
  const refused = orm.refused ?? ((error: unknown) => error);

  it("has the driver's code where users of the library look for it, and a status", async () => {
    const work = inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      await session.insertAuthor(ADA);
    });
    const error = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const code = kind === 'PostgreSQL' ? '23505' : 'SQLITE_CONSTRAINT_PRIMARYKEY';
    expect(refused(error)).toMatchObject({ code, ...(kind === 'PostgreSQL' && { constraint: 'authors_pkey' }) });
    expect(error).toMatchObject({ sqlState: '23505', statusCode: 500, retryable: false });
  });

  it.runIf(kind === 'PostgreSQL')('has the status 503 for a conflict that is left after the retries', async () => {
    await stage.app.pool.query(
      `CREATE OR REPLACE FUNCTION conflict() RETURNS trigger AS $$ BEGIN RAISE SQLSTATE '40001'; END $$ LANGUAGE plpgsql`,
    );
    await stage.app.pool.query('CREATE TRIGGER conflicting BEFORE INSERT ON authors EXECUTE FUNCTION conflict()');
    let attempts = 0;
    try {
      const work = inTransaction(
        async (session) => {
          attempts += 1;
          await session.insertAuthor(ADA);
        },
        { retries: 1, backoffMs: 0 },
      );
      await expect(work).rejects.toMatchObject({ status: 503, statusCode: 503, retryable: true, unavailable: true });
      expect(attempts).toBe(2);
    } finally {
      await stage.app.pool.query('DROP TRIGGER conflicting ON authors');
    }
  });
}
