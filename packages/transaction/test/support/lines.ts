import type { IContainer } from '@ambit/container';
import { expect } from 'vitest';
import { AROUND_POOLS } from '@ambit/test-kit/around-pools';
import type { AddPoolTest, RefusedCommit } from '@ambit/testing/pools';
import { unchecked } from '../../src/check/index.js';
import { withCallersStack } from '../../src/extension.js';
import { beginTransaction } from '../../src/host.js';
import {
  type DatabasePool,
  type IConnection,
  type IDatabasePool,
  runInTransaction,
  transactionOf,
} from '../../src/index.js';

interface Application {
  readonly pool: IDatabasePool;
  readonly scope: IContainer;
  /** Makes the next COMMIT fail. */
  readonly spoil: (connection: Pick<IConnection, 'query'>) => Promise<unknown>;
}

type Work = (connection: IConnection, scope: IContainer) => Promise<unknown>;

const inTransaction = ({ scope }: Pick<Application, 'scope'>, work: Work): Promise<unknown> =>
  runInTransaction(scope, (inner) => work(inner.resolve<IConnection>('IConnection'), inner));

const FAILING = 'SELECT * FROM no_such_table';

/** As an adapter of an ORM does, for the ORM. */
async function adapter(connection: IConnection): Promise<unknown> {
  try {
    return await connection.query(FAILING);
  } catch (error) {
    throw withCallersStack(error);
  }
}

/** It waits for nothing: it returns the promise of what it calls. */
async function orm(connection: IConnection): Promise<unknown> {
  return adapter(connection);
}

/** In each of them a function named `application` waits for what fails. */
const FAILURES: Readonly<Record<string, (app: Application) => Promise<unknown>>> = {
  'a failed query()': (app) =>
    inTransaction(app, async function application(connection) {
      await connection.query(FAILING);
    }),
  'a failed execute()': (app) =>
    inTransaction(app, async function application(connection) {
      await connection.execute?.(FAILING);
    }),
  'a failed query() that waited for another one': (app) =>
    inTransaction(app, async function application(connection) {
      void connection.query('SELECT 1');
      await connection.query(FAILING);
    }),
  'a failed query() of an ORM': (app) =>
    inTransaction(app, async function application(connection) {
      await orm(connection);
    }),
  'a failed query() of a nested run': (app) =>
    inTransaction(app, (_, scope) =>
      inTransaction({ scope }, async function application(connection) {
        await connection.query(FAILING);
      }),
    ),
  'a failed query() before COMMIT': ({ scope }) =>
    runInTransaction(scope, async (inner) => {
      transactionOf(inner)?.beforeCommit(async function application() {
        await inner.resolve<IConnection>('IConnection').query(FAILING);
      });
    }),
  'a failed query() of the pool': async function application({ pool }) {
    await pool.query(FAILING);
  },
  'a failed execute() of the pool': async function application({ pool }) {
    await pool.execute?.(FAILING);
  },
  'a failed query() of a connection': async function application({ pool }) {
    const connection = await pool.getConnection();
    try {
      await connection.query(FAILING);
    } finally {
      connection.release();
    }
  },
  'a refused statement': (app) =>
    inTransaction(app, async function application(connection) {
      await connection.query('COMMIT');
    }),
  'a refused statement of the pool': async function application({ pool }) {
    await pool.query('COMMIT');
  },
  'a statement after one that failed': (app) =>
    inTransaction(app, async function application(connection) {
      await connection.query(FAILING).catch(() => undefined);
      await connection.query('SELECT 1');
    }),
  'a statement after the transaction': async function application(app) {
    let late: IConnection | undefined;
    await inTransaction(app, async (connection) => void (late = connection));
    await late?.query('SELECT 1');
  },
  'COMMIT of a run in which a statement failed': async function application(app) {
    await inTransaction(app, (connection) => connection.query(FAILING).catch(() => undefined));
  },
  'commit() of a transaction in which a statement failed': async function application({ scope }) {
    const transaction = await beginTransaction(scope);
    await transaction.connection.query(FAILING).catch(() => undefined);
    await transaction.commit();
  },
  'a run that takes too long': async function application({ scope }) {
    await runInTransaction(scope, () => new Promise(() => undefined), { timeoutMs: 1 });
  },
};

const FAILED_COMMITS: typeof FAILURES = {
  'a failed COMMIT of a run': async function application(app) {
    await inTransaction(app, app.spoil);
  },
  'a failed COMMIT of a transaction': async function application({ scope, spoil }) {
    const transaction = await beginTransaction(scope);
    await spoil(transaction.connection);
    await transaction.commit();
  },
  'a failed COMMIT of the IConnection of a scope': async function application({ scope, spoil }) {
    const { connection } = await beginTransaction(scope);
    await spoil(connection);
    await connection.commit();
  },
  'a failed COMMIT of a connection': async function application({ pool, spoil }) {
    const connection = await pool.getConnection();
    try {
      await connection.beginTransaction();
      await spoil(connection);
      await connection.commit();
    } finally {
      connection.release(true);
    }
  },
};

/** The failures whose error has no line of the application in its stack, through whatever may be around the pool. */
async function lostLines(pool: DatabasePool, refusedCommit: RefusedCommit | undefined): Promise<string[]> {
  await pool.query('CREATE TABLE parents (id INTEGER PRIMARY KEY)');
  if (refusedCommit === 'deferred constraint')
    await pool.query('CREATE TABLE children (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)');
  const spoil = async (connection: Pick<IConnection, 'query'>): Promise<unknown> => {
    if (refusedCommit === 'deferred constraint') return connection.query('INSERT INTO children VALUES (1)');
    const [row] = await connection.query<{ id: number }>('SELECT CONNECTION_ID() AS id');
    return pool.query(`KILL ${row?.id}`);
  };
  const lost: string[] = [];
  for (const [around, surround] of Object.entries(AROUND_POOLS)) {
    // A sandbox commits nothing.
    const commits = refusedCommit && around !== 'a sandbox' ? FAILED_COMMITS : {};
    const { scope, remove, ...application } = await surround(pool);
    for (const [failure, fail] of Object.entries({ ...FAILURES, ...commits })) {
      const error: unknown = await fail({ ...application, scope, spoil }).then(
        () => 'It did not fail',
        (reason: unknown) => reason,
      );
      const stack = error instanceof Error ? String(error.stack) : String(error);
      if (!/^ +at (async )?(Object\.)?application /m.test(stack))
        lost.push(`${failure}, with ${around} around the pool: ${stack}`);
    }
    await remove();
  }
  return lost;
}

/** Adds the test to the contract of a pool. */
export function keepsLines(add: AddPoolTest, refusedCommit: RefusedCommit | undefined): void {
  add('has the line of the application in the stack of what fails, whatever is around the pool', async (database) => {
    const lines = await database.pool({ max: 3 });
    // A sandbox is one transaction, in which the same statement fails again and again.
    expect(await unchecked(() => lostLines(lines, refusedCommit))).toEqual([]);
  });
}
