import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { IContainer } from '@ambit/container';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  type IConnection,
  type DatabasePool,
  isRetryable,
  runInTransaction,
  sqlStateOf,
  type TransactionError,
  transactionOf,
} from '../src/index.js';
import { beginTransaction, isUnavailable } from '../src/host.js';
import { SimulatedClock } from '../src/testing/index.js';
import { isTransactionError } from '../src/errors.js';
import { createPostgresPool, type PostgresPoolOptions } from '../src/postgres/index.js';
import type { TinyContainer } from './support/container.js';
import { hasPostgres, postgresUrl } from '@ambit/test-kit';
import { openPostgres, openProxyToPostgres, type PostgresDatabase } from './support/databases.js';
import { openTransactionScopes, requestScope } from './support/requests.js';
import { poolWith } from './support/foreign-pool.js';

describe.skipIf(!hasPostgres)('transactions on PostgreSQL', () => {
  let database: PostgresDatabase;
  let pool: DatabasePool;
  let request: TinyContainer;
  let reported: TransactionError[];
  const onError = (error: TransactionError): void => void reported.push(error);

  beforeEach(async () => {
    database = await openPostgres();
    pool = database.pool({ max: 2 });
    request = requestScope(pool);
    reported = [];
    await pool.query('CREATE TABLE orders (id int PRIMARY KEY DEFERRABLE, note text)');
  });
  afterEach(() => database.drop());

  const stored = async (): Promise<number[]> => {
    const { rows } = await database.admin.query<{ id: number }>('SELECT id FROM orders ORDER BY id');
    return rows.map(({ id }) => id);
  };
  const pidOf = async (connection: IConnection): Promise<number> => {
    const [row] = await connection.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return row?.pid ?? 0;
  };
  /** Terminates the backend, and waits until it has exited. */
  const kill = async (pid: number): Promise<void> => {
    await database.admin.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
  };
  /** Somebody else must look: the admin's own session may be the one that holds the lock. */
  const waitsForLock = async (pid: number): Promise<void> => {
    const observer = new Client({ connectionString: postgresUrl });
    await observer.connect();
    const sql = 'SELECT wait_event_type AS waits FROM pg_stat_activity WHERE pid = $1';
    while ((await observer.query<{ waits: string }>(sql, [pid])).rows[0]?.waits !== 'Lock');
    await observer.end();
  };
  /** Two connections at once prove that none was lost, and statements on them that they are alive and idle. */
  async function expectPoolIntact(): Promise<void> {
    const both = await Promise.all([pool.getConnection(), pool.getConnection()]);
    for (const connection of both) {
      await connection.beginTransaction();
      await connection.commit();
      connection.release();
    }
    expect(openTransactionScopes(request)).toBe(0);
  }

  test.each(['nested', 'required'] as const)(
    'a %s run cannot ask for another level than the default',
    async (propagation) => {
      await runInTransaction(request, async (scope) => {
        const options = { propagation, isolation: 'serializable' } as const;
        await expect(runInTransaction(scope, async () => undefined, options)).rejects.toMatchObject({
          code: 'AMBIT_TX_NESTED',
          message: expect.stringContaining('it runs at read committed, and serializable was asked for'),
        });
        await scope.resolve<IConnection>('IConnection').query('INSERT INTO orders VALUES (1)');
      });
      expect(await stored()).toEqual([1]);
    },
  );

  describe('a conflict that is left after the retries is temporary', () => {
    const conflict = "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$";
    const fail = async (scope: IContainer): Promise<void> => {
      await scope.resolve<IConnection>('IConnection').query(conflict);
    };
    const ways: Readonly<Record<string, (scope: IContainer) => Promise<unknown>>> = {
      'of a statement': fail,
      'of COMMIT': async (scope) => {
        await scope.resolve<IConnection>('IConnection').query('INSERT INTO conflicts VALUES (1)');
      },
      'whose failure the work ignores': (scope) => fail(scope).catch(() => undefined),
      'of a nested run': (scope) => runInTransaction(scope, fail),
      'of a joined run': (scope) => runInTransaction(scope, fail, { propagation: 'required' }),
      'that the application has wrapped': (scope) =>
        fail(scope).catch((cause: unknown) => {
          throw new Error('the order failed', { cause });
        }),
      'of beforeCommit': async (scope) => transactionOf(scope)?.beforeCommit(() => fail(scope)),
      'of a transaction of its own': (scope) =>
        runInTransaction(scope, fail, { propagation: 'requires-new', retries: 0 }),
    };

    test.each(Object.entries(ways))('%s', async (_, way) => {
      await pool.query('CREATE TABLE conflicts (id int)');
      await pool.query(
        `CREATE FUNCTION conflict() RETURNS trigger AS $f$ BEGIN RAISE SQLSTATE '40001'; END $f$ LANGUAGE plpgsql`,
      );
      await pool.query(
        'CREATE CONSTRAINT TRIGGER late AFTER INSERT ON conflicts INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION conflict()',
      );
      let attempts = 0;
      const work = async (scope: IContainer): Promise<unknown> => {
        attempts += 1;
        return way(scope);
      };
      const failure = await runInTransaction(request, work, { retries: 1, backoffMs: 0 }).catch(
        (error: unknown) => error,
      );
      expect([isUnavailable(failure), isRetryable(failure), sqlStateOf(failure)]).toEqual([true, true, '40001']);
      if (isTransactionError(failure)) expect(failure).toMatchObject({ status: 503, statusCode: 503 });
      expect(attempts).toBe(2);
      await expectPoolIntact();
    });

    test('of afterBegin', async () => {
      const failing = database.pool({ afterBegin: (connection) => connection.query(conflict) });
      const run = runInTransaction(requestScope(failing), async () => undefined, { retries: 1, backoffMs: 0 });
      await expect(run).rejects.toMatchObject({ code: 'AMBIT_TX_BEGIN_FAILED', status: 503, sqlState: '40001' });
    });
  });

  describe('when the backend is killed', () => {
    test('before BEGIN', async () => {
      const dying = poolWith(pool, async (options) => {
        const connection = await pool.getConnection(options);
        await kill(await pidOf(connection));
        return connection;
      });
      const begun = beginTransaction(requestScope(dying), { onError });
      await expect(begun).rejects.toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST', unavailable: true });
      await expectPoolIntact();
    });

    test('between BEGIN and the first statement', async () => {
      const transaction = await beginTransaction(request, { onError });
      await kill(await pidOf(transaction.connection));
      const insert = transaction.connection.query('INSERT INTO orders VALUES (1)');
      await expect(insert).rejects.toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST', unavailable: true });
      await expect(transaction.commit()).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED', unavailable: true });
      expect([reported, pool.size]).toMatchObject([[], { open: 0 }]);
      expect(await stored()).toEqual([]);
      await expectPoolIntact();
    });

    test('during a statement', async () => {
      const transaction = await beginTransaction(request, { onError });
      const pid = await pidOf(transaction.connection);
      const slow = transaction.connection.query('SELECT pg_sleep(60)');
      slow.catch(() => undefined);
      await kill(pid);
      await expect(slow).rejects.toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST', sqlState: '57P01' });
      await transaction.rollback();
      await expectPoolIntact();
    });

    test('between the last statement and COMMIT: the outcome is known only if the death was noticed in time', async () => {
      const transaction = await beginTransaction(request, { onError });
      await transaction.connection.query('INSERT INTO orders VALUES (1)');
      await kill(await pidOf(transaction.connection));
      const code = expect.stringMatching(/^AMBIT_TX_(?:COMMIT_FAILED|OUTCOME_UNKNOWN)$/);
      await expect(transaction.commit()).rejects.toMatchObject({ code, retryable: false, unavailable: true });
      expect(transaction.state).toBe(transaction.error?.code === 'AMBIT_TX_COMMIT_FAILED' ? 'rolled back' : 'unknown');
      expect(await stored()).toEqual([]);
      await expectPoolIntact();
    });

    test('between the last statement and ROLLBACK: rollback() does not reject', async () => {
      const transaction = await beginTransaction(request, { onError });
      await transaction.connection.query('INSERT INTO orders VALUES (1)');
      await kill(await pidOf(transaction.connection));
      await transaction.rollback();
      expect(reported).toMatchObject([{ code: 'AMBIT_TX_ROLLBACK_FAILED' }]);
      expect(await stored()).toEqual([]);
      await expectPoolIntact();
    });

    test('while it is idle in the pool: nobody notices', async () => {
      const connection = await pool.getConnection();
      const pid = await pidOf(connection);
      connection.release();
      await kill(pid);
      await expectPoolIntact();
      expect(pool.size).toMatchObject({ waiting: 0 });
    });
  });

  describe('COMMIT', () => {
    test('refused by a deferred constraint stores nothing, and keeps the connection', async () => {
      const transaction = await beginTransaction(request, { onError });
      const pid = await pidOf(transaction.connection);
      await transaction.connection.query('SET CONSTRAINTS ALL DEFERRED');
      await transaction.connection.query('INSERT INTO orders VALUES (1), (1)');
      await expect(transaction.commit()).rejects.toMatchObject({ code: 'AMBIT_TX_COMMIT_FAILED', sqlState: '23505' });
      expect(transaction.state).toBe('rolled back');
      expect(await stored()).toEqual([]);
      const again = await pool.getConnection();
      expect(await pidOf(again)).toBe(pid);
      again.release();
    });

    test('on a connection that close() has just taken is not even sent, so nothing is stored for certain', async () => {
      const transaction = await beginTransaction(request, { onError });
      await transaction.connection.query('INSERT INTO orders VALUES (1)');
      const closing = pool.close();
      await vi.waitUntil(() => pool.size?.open === 0, { interval: 1, timeout: 120_000 });
      await expect(transaction.commit()).rejects.toMatchObject({
        code: 'AMBIT_TX_COMMIT_FAILED',
        sqlState: '08003',
        unavailable: true,
      });
      expect(transaction.state).toBe('rolled back');
      await closing;
      expect(await stored()).toEqual([]);
    });

    test.each([
      { fault: 'before', rows: [] },
      { fault: 'after', rows: [1] },
      { fault: 'silence', rows: [1] },
    ] as const)('whose reply is lost ($fault) has an unknown outcome', async ({ fault, rows }) => {
      const proxy = await openProxyToPostgres();
      const clock = new SimulatedClock();
      const through = database.pool({ connectionString: database.url(proxy.port), max: 1, clock });
      const transaction = await beginTransaction(requestScope(through), { onError, endTimeoutMs: Infinity });
      await transaction.connection.query('INSERT INTO orders VALUES (1)');
      proxy.faultAt = (message) => (message.includes('COMMIT') ? fault : 'none');
      const committed = transaction.commit().catch((error: unknown) => error);
      await vi.waitFor(async () => expect(await stored()).toEqual(rows), 120_000);
      if (fault === 'silence') await clock.run();
      expect(await committed).toMatchObject({ code: 'AMBIT_TX_OUTCOME_UNKNOWN', unavailable: true });
      expect(through.size).toMatchObject({ open: 0, waiting: 0 });
      expect(await through.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await through.close();
    });
  });

  describe('an abort', () => {
    test('cancels the statement in progress on the server, frees its locks, and destroys the connection', async () => {
      await pool.query('INSERT INTO orders VALUES (1)');
      await database.admin.query('BEGIN');
      await database.admin.query('SELECT * FROM orders FOR UPDATE');
      const client = new AbortController();
      const transaction = await beginTransaction(request, { signal: client.signal, cancelAfterMs: 10, onError });
      const pid = await pidOf(transaction.connection);
      const blocked = transaction.connection.query("UPDATE orders SET note = 'x'");
      blocked.catch(() => undefined);
      await waitsForLock(pid);
      client.abort(new Error('the client disconnected'));
      await expect(blocked).rejects.toMatchObject({
        code: 'AMBIT_TX_ABORTED',
        cause: { code: 'AMBIT_TX_STATEMENT_FAILED', sqlState: '57014' },
      });
      await expect(transaction.commit()).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
      await database.admin.query('COMMIT');
      await expectPoolIntact();
      const again = await Promise.all([pool.getConnection(), pool.getConnection()]);
      expect(await Promise.all(again.map(pidOf))).not.toContain(pid);
      again.forEach((connection) => connection.release());
    });
  });

  describe('time-outs', () => {
    /** Its server accepts connections, and never responds. */
    const deafPool = async (limits: PostgresPoolOptions): Promise<DatabasePool> => {
      const server = createServer((socket) => void socket.on('error', () => undefined));
      onTestFinished(() => void server.close());
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const { port } = server.address() as AddressInfo;
      return createPostgresPool({ host: '127.0.0.1', port, ...limits });
    };

    test('cancel a statement that takes too long, and the connection is not used again', async () => {
      const impatient = database.pool({ max: 1, queryTimeoutMs: 2000 });
      await expect(impatient.query('SELECT pg_sleep(60)')).rejects.toMatchObject({
        sqlState: '57014',
        unavailable: true,
      });
      expect(impatient.size).toMatchObject({ open: 0 });
      await expect(impatient.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    });

    test('of the server cancel a statement and keep the connection', async () => {
      const limited = database.pool({ max: 1, statementTimeoutMs: 50 });
      await expect(limited.query('SELECT pg_sleep(60)')).rejects.toMatchObject({ sqlState: '57014' });
      expect(limited.size).toMatchObject({ open: 1, idle: 1 });
    });

    test.each([Infinity, 2 ** 31])('of the server that are longer than it knows are none: %d ms', async (limit) => {
      const waiter = database.pool({ max: 1, statementTimeoutMs: limit });
      await expect(waiter.query('SHOW statement_timeout')).resolves.toEqual([{ statement_timeout: '0' }]);
    });

    test('end the wait for a server that accepts and never responds', async () => {
      const deaf = await deafPool({ connectTimeoutMs: 50, acquireTimeoutMs: 60_000 });
      await expect(deaf.query('SELECT 1')).rejects.toMatchObject({
        code: 'AMBIT_TX_ACQUIRE_FAILED',
        unavailable: true,
      });
      const short = deaf.getConnection({ timeoutMs: 10 });
      await expect(short).rejects.toMatchObject({
        code: 'AMBIT_TX_ACQUIRE_TIMEOUT',
        unavailable: true,
        message: expect.stringContaining('check that the database responds'),
      });
      await deaf.close();
    });

    test('end the wait of close() for a connection that is being made', async () => {
      const deaf = await deafPool({ closeTimeoutMs: 20 });
      const asked = deaf.getConnection();
      asked.catch(() => undefined);
      await deaf.close();
      await expect(asked).rejects.toMatchObject({ code: 'AMBIT_TX_ACQUIRE_FAILED' });
    });

    test.each(['idle', 'in a transaction'])(
      'end the wait of close() for a server that is unreachable (%s)',
      async (state) => {
        const proxy = await openProxyToPostgres();
        proxy.faultAt = (message) => (message.startsWith('X') ? 'swallowed' : 'none');
        const far = createPostgresPool({ connectionString: database.url(proxy.port), max: 1, closeTimeoutMs: 20 });
        const connection = await far.getConnection();
        if (state === 'idle') connection.release();
        else await connection.beginTransaction();
        await expect(far.close()).resolves.toBeUndefined();
      },
    );
  });

  test('says that the connection was lost when close() has cut a statement off', async () => {
    const slow = pool.query('SELECT pg_sleep(60)');
    slow.catch(() => undefined);
    await pool.query('SELECT 1');
    await pool.close();
    await expect(slow).rejects.toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST' });
  });

  test.each([
    [
      'throws',
      (): void => {
        throw new Error('the listener failed');
      },
    ],
    ['rejects', (): unknown => Promise.reject(new Error('the listener failed'))],
  ])('reports once that a connection died while nobody used it, though the listener %s', async (_how, hear) => {
    let times = 0;
    const watched = database.pool({
      max: 1,
      onError: () => {
        times += 1;
        return hear();
      },
    });
    const [row] = await watched.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await kill(row?.pid ?? 0);
    await vi.waitFor(() => expect(watched.size).toMatchObject({ open: 0, idle: 0 }), 120_000);
    expect(times).toBe(1);
    await expect(watched.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
  });

  test.each([
    ['a value of its own kind', { n: 1n }],
    [
      'a value that fails with a code',
      {
        toPostgres: () => {
          throw Object.assign(new TypeError('not this one'), { code: 'ERR_INVALID_ARG_TYPE' });
        },
      },
    ],
  ])('lets %s that cannot be sent spoil nothing for the next user', async (_what, value) => {
    const one = database.pool({ max: 1 });
    const sql = 'SELECT $1::text AS value';
    await expect(one.query(sql, [value])).rejects.toMatchObject({ code: 'AMBIT_TX_PARAMETER' });
    await expect(one.query(sql, ['sent'])).resolves.toEqual([{ value: 'sent' }]);
  });

  test.each(['outside of', 'inside of'])('survives a COPY that nothing is sent to, %s a transaction', async (where) => {
    const one = database.pool({ max: 1, queryTimeoutMs: 60_000 });
    const connection = await one.getConnection();
    const pid = await pidOf(connection);
    if (where === 'inside of') await connection.beginTransaction();
    await expect(connection.query('COPY orders FROM STDIN')).rejects.toMatchObject({ sqlState: '57014' });
    if (where === 'inside of') await connection.rollback();
    connection.release();
    await expect(one.query('SELECT pg_backend_pid() AS pid')).resolves.toEqual([{ pid }]);
  });

  test('cancels nothing for a caller that has released the connection', async () => {
    const one = database.pool({ max: 1 });
    const connection = await one.getConnection();
    connection.release();
    const slow = one.query('SELECT pg_sleep(0.2)');
    connection.cancel?.();
    await expect(slow).resolves.toHaveLength(1);
  });

  test.each([true, false])('names prepared statements only when asked to (prepare: %s)', async (prepare) => {
    const one = database.pool({ max: 1, prepare });
    await one.query('SELECT * FROM orders WHERE id = $1', [1]);
    await one.query('SELECT * FROM orders WHERE id = $1::int', [1]);
    const names = await one.query<{ name: string }>('SELECT name FROM pg_prepared_statements WHERE statement LIKE $1', [
      '%FROM orders%',
    ]);
    expect(names).toHaveLength(prepare ? 1 : 0);
  });

  test('destroys a connection that is released during a statement', async () => {
    const connection = await pool.getConnection();
    const pid = await pidOf(connection);
    const slow = connection.query('SELECT pg_sleep(60)');
    const next = connection.query('INSERT INTO orders VALUES (1)');
    slow.catch(() => undefined);
    next.catch(() => undefined);
    connection.release();
    await expect(slow).rejects.toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST' });
    await expect(next).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
    await kill(pid);
    expect(await stored()).toEqual([]);
    await expectPoolIntact();
  });

  test('warns of nothing when many statements are asked for at once', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const connection = await pool.getConnection();
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) => connection.query('SELECT $1::int AS n', [index])),
    );
    connection.release();
    await new Promise(setImmediate);
    process.off('warning', onWarning);
    expect(results.flat()).toEqual(Array.from({ length: 10 }, (_, n) => ({ n })));
    expect(warnings).toEqual([]);
  });

  describe('runInTransaction()', () => {
    test('runs again after a real serialisation failure, until both have counted', async () => {
      await pool.query('INSERT INTO orders VALUES (1, 0)');
      let attempts = 0;
      let reads = 0;
      const count = (): Promise<void> =>
        runInTransaction(
          request,
          async (scope) => {
            attempts += 1;
            const connection = scope.resolve<IConnection>('IConnection');
            const [row] = await connection.query<{ note: string }>('SELECT note FROM orders WHERE id = 1');
            reads += 1;
            // Two must have read before one writes, or there is no conflict.
            await vi.waitUntil(() => reads >= 2, { interval: 1, timeout: 120_000 });
            await connection.query('UPDATE orders SET note = $1 WHERE id = 1', [String(Number(row?.note) + 1)]);
          },
          { isolation: 'serializable', retries: 20, onError },
        );
      await Promise.all([count(), count(), count(), count()]);
      expect(await pool.query('SELECT note FROM orders')).toEqual([{ note: '4' }]);
      expect(attempts).toBeGreaterThan(4);
      await expectPoolIntact();
    });
  });
});
