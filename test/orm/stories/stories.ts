import { type IConnection, type IDatabasePool, runInTransaction, transactionOf } from '@ambit/transaction';
import { assert, describe, expect, it } from 'vitest';
import { beginTransaction } from '@ambit/transaction/host';
import { AROUND_POOLS } from '@ambit/test-kit/around-pools';
import { transactionCheck } from '@ambit/transaction/check';
import { sandbox } from '@ambit/transaction/testing';
import {
  ADA,
  BOB,
  codeOf,
  NOTES,
  ofConnection,
  openStage,
  type Orm,
  type OrmSession,
  SAMPLE,
  type Stage,
} from './stage.js';

/** Statements: what they read and change, and how many rows. */
function statementStories(stage: Stage): void {
  const { inTransaction, committedAuthors } = stage;

  it('reads what it inserts, and COMMIT stores it', async () => {
    const seen = await inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      return session.authors();
    });
    expect(seen).toEqual([ADA]);
    expect(await committedAuthors()).toEqual([ADA]);
  });

  it('stores nothing when the work rejects', async () => {
    const failure = new Error('changed my mind');
    const work = inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      throw failure;
    });
    await expect(work).rejects.toBe(failure);
    expect(await committedAuthors()).toEqual([]);
  });

  it('sees what a statement on the IConnection has changed, and the other way round', async () => {
    await inTransaction(async (session, scope) => {
      const connection = scope.resolve<IConnection>('IConnection');
      await connection.query('INSERT INTO authors (id, name) VALUES ($1, $2)', [ADA.id, ADA.name]);
      await session.insertAuthor(BOB);
      expect(await session.authors()).toEqual([ADA, BOB]);
      expect(await connection.query('SELECT id FROM authors ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }]);
    });
  });

  it('keeps the columns of a join apart where their names are equal', async () => {
    const rows = await inTransaction(async (session) => {
      await session.insertAuthor({ id: 7, name: 'Ada' });
      await session.insertBook({ id: 1, authorId: 7, name: 'Notes' });
      return session.booksWithAuthors();
    });
    expect(rows).toEqual([{ book: { id: 1, name: 'Notes' }, author: { id: 7, name: 'Ada' } }]);
  });

  it('reports how many rows a statement changed', async () => {
    await inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      await session.insertAuthor(BOB);
      expect(await session.renameAuthors([1, 2, 3], 'Eve')).toBe(2);
      expect(await session.renameAuthors([3], 'Eve')).toBe(0);
      expect(await session.authors()).toEqual([
        { id: 1, name: 'Eve' },
        { id: 2, name: 'Eve' },
      ]);
    });
  });

  it('has an optimistic lock: of two changes to one version, the second finds no row', async () => {
    await inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      await session.insertBook(NOTES);
    });
    expect(await inTransaction((session) => session.renameBook(1, 1, 'First'))).toBe(true);
    expect(await inTransaction((session) => session.renameBook(1, 1, 'Second'))).toBe(false);
    expect(await stage.app.pool.query('SELECT name, version FROM books')).toEqual([{ name: 'First', version: 2 }]);
  });

  it('runs raw SQL with parameters', async () => {
    const found = await inTransaction(async (session) => {
      await session.insertAuthor({ id: 1, name: "O'Neil" });
      await session.insertAuthor(BOB);
      return session.authorNamed("O'Neil");
    });
    expect(found).toEqual([{ id: 1, name: "O'Neil" }]);
  });

  it('takes statements that are sent at once', async () => {
    await inTransaction(async (session) => {
      const authors = Array.from({ length: 20 }, (_, index) => ({ id: index + 1, name: `Author ${index}` }));
      await Promise.all(authors.map((author) => session.insertAuthor(author)));
      expect(await session.authors()).toEqual(authors);
    });
    expect(await committedAuthors()).toHaveLength(20);
  });

  it.skipIf(!stage.orm.streams)(
    'streams rows, also where the reader stops early, and works on after that',
    async () => {
      await inTransaction(async (session) => {
        const { stream } = session;
        assert(stream);
        for (let id = 1; id <= 250; id += 1) await session.insertAuthor({ id, name: `Author ${id}` });
        const ids: number[] = [];
        for await (const { id } of stream()) ids.push(id);
        expect(ids).toEqual(Array.from({ length: 250 }, (_, index) => index + 1));
        for await (const { id } of stream()) if (id === 3) break;
        expect(await session.renameAuthors([1], 'First')).toBe(1);
      });
    },
  );
}

/** Nested transactions: savepoints on the one connection. */
function nestingStories(stage: Stage): void {
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

/** Failures, and what comes after COMMIT or ROLLBACK: nothing of the ORM commits, and nothing works afterwards. */
function failureStories(stage: Stage): void {
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

/** A statement that the database refused, as the application sees it. */
function errorStories(stage: Stage): void {
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
    const code = { PostgreSQL: '23505', SQLite: 'SQLITE_CONSTRAINT_PRIMARYKEY', MariaDB: 'ER_DUP_ENTRY' }[kind];
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

type Run = (work: (session: OrmSession) => Promise<unknown>) => Promise<unknown>;

/** In each of them a function named `application` waits for what fails. */
const FAILURES: Readonly<Record<string, (inTransaction: Run) => Promise<unknown>>> = {
  'a failed statement': (inTransaction) =>
    inTransaction(async function application(session) {
      await session.insertAuthor(ADA);
      await session.insertAuthor(ADA);
    }),
  'a failed statement in a nested transaction': (inTransaction) =>
    inTransaction((outer) =>
      outer.nested(async function application(session) {
        await session.insertAuthor(ADA);
        await session.insertAuthor(ADA);
      }),
    ),
  'a statement that is refused after a failed one': (inTransaction) =>
    inTransaction(async function application(session) {
      await session.insertAuthor(ADA);
      await session.insertAuthor(ADA).catch(() => undefined);
      await session.authors();
    }),
  'COMMIT after a failed statement': async function application(inTransaction) {
    await inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      await session.insertAuthor(ADA).catch(() => undefined);
    });
  },
};

/** Whatever the application puts around its pool, its own line is in the stack of what fails through the library. */
function lineStories(stage: Stage): void {
  it.each(Object.keys(AROUND_POOLS))('keeps the line of the application with %s around the pool', async (around) => {
    const { scope, remove } = await AROUND_POOLS[around]!(stage.app.pool as never);
    const lost: string[] = [];
    for (const [failure, fail] of Object.entries(FAILURES)) {
      const failing = fail((work) =>
        runInTransaction(scope, async (inner) => {
          await work(await stage.opened.session(inner));
        }),
      );
      const error: unknown = await failing.catch((reason: unknown) => reason);
      const stack = error instanceof Error ? String(error.stack) : String(error);
      if (!/^ +at (async )?(Object\.)?application /m.test(stack)) lost.push(`${failure}: ${stack}`);
    }
    await remove();
    expect(lost).toEqual([]);
  });
}

/** Types of values, as the ORM gives them on its own driver. */
function typeStories(stage: Stage): void {
  const { inTransaction } = stage;

  it.each([
    ['dates', 'at'],
    ['bigints', 'big'],
    ['JSON', 'data'],
    ['booleans', 'yes'],
    ['null', 'missing'],
  ] as const)("stores %s, and gives them in the ORM's own types", async (_title, column) => {
    const given = await inTransaction(async (session) => {
      await session.insertSample(SAMPLE);
      return session.sample();
    });
    expect(given[column]).toEqual({ ...ofConnection(stage.kind), ...stage.orm.gives?.(stage.kind) }[column]);
  });
}

/** The same library on a pool: single statements outside of transactions. */
function poolStories(stage: Stage): void {
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

/** Every ORM must do this on a transaction's connection, on each database that it supports. */
export function ormStories(orm: Orm): void {
  const pools = [
    ...orm.databases.map((kind) => ({ kind, driver: undefined, name: kind })),
    ...(orm.drivers ?? []).map((driver) => ({ kind: 'PostgreSQL', driver, name: `the pool over ${driver}` }) as const),
  ];
  describe.each(pools)(`${orm.name} on $name`, ({ kind, driver }) => {
    const stage = openStage(orm, kind, driver);
    statementStories(stage);
    nestingStories(stage);
    failureStories(stage);
    errorStories(stage);
    lineStories(stage);
    typeStories(stage);
    poolStories(stage);
  });
}
