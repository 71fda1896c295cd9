import { getEventListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasPostgres } from '@ambit/test-kit';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { poolOver, POSTGRES_LANGUAGE, type Wire } from '../src/extension.js';
import { beginTransaction, TransactionStart } from '../src/host.js';
import { type AfterBegin, type IConnection, type IDatabasePool, runInTransaction, sqlStateOf } from '../src/index.js';
import { createSqlitePool } from '../src/sqlite/index.js';
import { type FakeFault, FakePool, type FaultPoint, sandbox, SimulatedClock } from '../src/testing/index.js';
import type { TinyContainer } from './support/container.js';
import { openPostgres, type PostgresDatabase } from './support/databases.js';
import { poolWith } from './support/foreign-pool.js';
import { nothingIsLeft, openTransactionScopes, played, requestScope } from './support/requests.js';

describe('a TransactionStart, which may be rolled back before it has begun', () => {
  let clock: SimulatedClock;
  let faults: Partial<Record<FaultPoint, FakeFault>>;
  let pool: FakePool;
  let request: TinyContainer;

  beforeEach(() => {
    clock = new SimulatedClock();
    faults = {};
    pool = new FakePool({ max: 1, clock, faultAt: (point) => faults[point] ?? { ms: 1, kind: 'none' } });
    request = requestScope(pool);
  });

  const start = (signal?: AbortSignal): TransactionStart => {
    const begun = new TransactionStart(request, { clock, timeoutMs: Infinity, ...(signal ? { signal } : {}) });
    begun.begun.catch(() => undefined);
    return begun;
  };
  const play = <T>(promise: Promise<T>): Promise<T> => played(clock, promise);
  const expectNothingLeft = (): void => nothingIsLeft(pool, request);

  test('has a transaction once BEGIN has succeeded', async () => {
    const started = start();
    expect(started.transaction).toBeUndefined();
    const transaction = await play(started.begun);
    expect(started.transaction).toBe(transaction);
    await play(started.rollback());
    expect(transaction.state).toBe('rolled back');
    expectNothingLeft();
  });

  test('leaves the queue when it is rolled back while it waits for a connection', async () => {
    const holder = await play(beginTransaction(request, { clock, timeoutMs: Infinity }));
    const waiting = start();
    expect(pool.size.waiting).toBe(1);
    await waiting.rollback(new Error('the client disconnected'));
    expect(pool.size.waiting).toBe(0);
    await expect(waiting.begun).rejects.toMatchObject({
      code: 'AMBIT_TX_ABORTED',
      cause: { message: 'the client disconnected' },
    });
    await play(holder.rollback());
    expectNothingLeft();
  });

  test.each(['acquire', 'begin'] as const)('undoes everything when it is rolled back during %s', async (point) => {
    faults[point] = { ms: 50, kind: 'none' };
    const started = start();
    const reason = new Error('changed my mind');
    clock.setTimer(() => void started.rollback(reason), 20);
    await expect(play(started.begun)).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED', cause: reason });
    expect(started.transaction).toBeUndefined();
    expect(pool.stored).toEqual([]);
    expectNothingLeft();
  });

  test('rollback() never rejects, whatever becomes of the start, and may be called again', async () => {
    faults.acquire = { ms: 5, kind: 'lost' };
    const started = start();
    await play(Promise.all([started.rollback(), started.rollback()]));
    await play(started.rollback());
    await expect(started.begun).rejects.toMatchObject({ code: 'AMBIT_TX_ACQUIRE_FAILED' });
    expectNothingLeft();
  });

  test('stops when its signal aborts, and keeps no listener on it', async () => {
    const holder = await play(beginTransaction(request, { clock, timeoutMs: Infinity }));
    const client = new AbortController();
    const waiting = start(client.signal);
    expect(pool.size.waiting).toBe(1);
    client.abort(new Error('the client disconnected'));
    await expect(play(waiting.begun)).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });

    const waiter = new AbortController();
    const next = start(waiter.signal);
    await play(holder.rollback());
    await play((await next.begun).commit());
    expect(getEventListeners(waiter.signal, 'abort')).toEqual([]);
    expectNothingLeft();
  });

  test('asks for no connection when the signal fired while a pool around the pool was not yet listening', async () => {
    const holder = await play(beginTransaction(request, { clock, timeoutMs: Infinity }));
    const slow = poolWith(pool, async (options) => {
      await clock.sleep(10);
      return pool.getConnection(options);
    });
    request.register('IDatabasePool', () => slow);
    const client = new AbortController();
    const waiting = start(client.signal);
    client.abort(new Error('the client disconnected'));
    await expect(play(waiting.begun)).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    expect(clock.now()).toBeLessThan(100);
    await play(holder.rollback());
    expectNothingLeft();
  });

  test('makes a signal for a pool that looks at it, and otherwise none', async () => {
    const made = vi.spyOn(globalThis, 'AbortController');
    const inTurn = [start(), start()].map(async ({ begun }) => (await begun).commit());
    await play(Promise.all(inTurn));
    expect(made).not.toHaveBeenCalled();
    made.mockRestore();

    const curious = poolWith(
      pool,
      ({ signal } = {}) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('gave up')))),
    );
    request.register('IDatabasePool', () => curious);
    const started = start();
    await play(started.rollback());
    await expect(started.begun).rejects.toMatchObject({ cause: { message: 'gave up' } });
  });
});

/** As on MySQL, where the isolation level is a statement of its own. */
const IN_PARTS = { ...POSTGRES_LANGUAGE, begin: () => ['SET TRANSACTION', 'START TRANSACTION'] };

describe('a connection whose BEGIN has several statements', () => {
  test.each(['SET TRANSACTION', 'START TRANSACTION'])('is not used again when %s fails', async (failing) => {
    const released: boolean[] = [];
    const wire: Wire = {
      isLost: false,
      send: (sql) => {
        if (sql === failing) throw Object.assign(new Error('refused'), { code: '55000' });
        return { rows: [], rowCount: null, command: sql, fields: [] };
      },
      release: (possiblyBroken) => void released.push(possiblyBroken),
    };
    const pool = poolOver({ language: IN_PARTS, max: 1, connect: () => wire, close: async () => undefined }, {});
    const connection = await pool.getConnection();
    await expect(connection.beginTransaction()).rejects.toMatchObject({ sqlState: '55000' });
    await expect(connection.commit()).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
    connection.release();
    expect(released).toEqual([true]);
  });
});

describe('afterBegin', () => {
  let pool: FakePool & { afterBegin?: AfterBegin | undefined };
  let request: TinyContainer;

  beforeEach(() => {
    pool = new FakePool();
    request = requestScope(pool);
  });

  const expectNothingLeft = (): void => {
    expect(pool).toMatchObject({ out: 0, violations: [], stored: [] });
    expect(openTransactionScopes(request)).toBe(0);
  };

  test('comes first, and receives the connection and the scope of the transaction', async () => {
    const seen: unknown[] = [];
    pool.afterBegin = async (connection, scope) => {
      seen.push(connection === scope.resolve('IConnection'), scope.resolve('ITenant'));
      await connection.query('SET tenant');
    };
    request.register('ITenant', () => 'acme');
    await runInTransaction(request, (scope) => scope.resolve<IConnection>('IConnection').query('INSERT order'));
    expect(seen).toEqual([true, 'acme']);
    expect(pool.stored).toEqual(['SET tenant', 'INSERT order']);
  });

  test('is not called again for a savepoint', async () => {
    const afterBegin = vi.fn<AfterBegin>();
    pool.afterBegin = afterBegin;
    await runInTransaction(request, (scope) => runInTransaction(scope, async () => undefined));
    expect(afterBegin).toHaveBeenCalledOnce();
  });

  test.each([
    [
      'throws',
      (): never => {
        throw new Error('no tenant');
      },
    ],
    ['rejects', (): Promise<never> => Promise.reject(new Error('no tenant'))],
  ])('that %s is a failed BEGIN, with nothing left behind', async (_how, afterBegin) => {
    pool.afterBegin = afterBegin;
    const work = vi.fn<() => Promise<void>>();
    const failed = { code: 'AMBIT_TX_BEGIN_FAILED', cause: expect.objectContaining({ message: 'no tenant' }) };
    await expect(runInTransaction(request, work)).rejects.toMatchObject(failed);
    await expect(beginTransaction(request)).rejects.toMatchObject(failed);
    expect(work).not.toHaveBeenCalled();
    expectNothingLeft();
  });

  test('cannot commit: the transaction never begins', async () => {
    pool.afterBegin = (connection) => connection.commit();
    await expect(beginTransaction(request)).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
    expectNothingLeft();
  });

  test('runs again for each attempt, and a conflict in it is retried', async () => {
    let attempts = 0;
    pool.afterBegin = async (connection) => {
      attempts += 1;
      await connection.query('SET tenant');
      if (attempts === 1) throw Object.assign(new Error('conflict'), { code: '40001' });
    };
    await runInTransaction(
      request,
      async () => {
        if (attempts === 2) throw Object.assign(new Error('conflict'), { code: '40001' });
      },
      { backoffMs: 0 },
    );
    expect(attempts).toBe(3);
    expect(pool.stored).toEqual(['SET tenant']);
  });

  test('counts into the time limit, also where it waits for something else than the database', async () => {
    pool.afterBegin = () => new Promise(() => undefined);
    const timeout = { code: 'AMBIT_TX_TIMEOUT' };
    await expect(beginTransaction(request, { timeoutMs: 20 })).rejects.toMatchObject(timeout);
    await expect(runInTransaction(request, async () => undefined, { timeoutMs: 20 })).rejects.toMatchObject(timeout);
    expectNothingLeft();
  });

  test('is cancelled with its transaction, and has no connection to go on with', async () => {
    let goOn: () => void = () => undefined;
    let late: Promise<unknown> = Promise.resolve();
    const called = new Promise<void>((resolve) => {
      pool.afterBegin = (connection) => {
        resolve();
        return (late = new Promise<void>((wake) => (goOn = wake)).then(() => connection.query('SET tenant')));
      };
    });
    const start = new TransactionStart(request);
    const begun = start.begun.catch((error: unknown) => error);
    await called;
    await start.rollback(new Error('The client left'));
    expect(await begun).toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    goOn();
    await expect(late).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    expectNothingLeft();
  });
});

test('on SQLite, afterBegin can defer the foreign keys', async () => {
  const afterBegin = (connection: IConnection): Promise<unknown> => connection.query('PRAGMA defer_foreign_keys = ON');
  await using pool = createSqlitePool({ path: ':memory:', afterBegin });
  await pool.query('CREATE TABLE users (id integer PRIMARY KEY)');
  await pool.query('CREATE TABLE orders (user_id integer REFERENCES users (id))');
  await runInTransaction(requestScope(pool), async (scope) => {
    const connection = scope.resolve<IConnection>('IConnection');
    await connection.query('INSERT INTO orders VALUES (1)');
    await connection.query('INSERT INTO users VALUES (1)');
  });
  await expect(pool.query('SELECT * FROM orders')).resolves.toHaveLength(1);
});

const guide = readFileSync(join(import.meta.dirname, '../../../docs/guides/multi-tenancy.md'), 'utf8');
const recipe = /```sql\n([^]*?)```/.exec(guide)?.[1] ?? expect.fail('The guide has no recipe');

describe.skipIf(!hasPostgres)('row-level security on PostgreSQL, as the guide has it,', () => {
  let database: PostgresDatabase;
  let role: string;

  beforeEach(async () => {
    database = await openPostgres();
    role = `ambit_rls_${process.pid}_${Math.random().toString(36).slice(2)}`;
    await database.admin.query('CREATE TABLE orders (id int PRIMARY KEY, tenant text)');
    await database.admin.query(recipe.replaceAll(/\bapp\b(?!\.)/g, role));
    await database.admin.query(
      `DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO ${role}', current_schema()); END $$`,
    );
  });
  afterEach(async () => {
    await database.admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await database.drop();
  });

  const pool = (options: { afterBegin?: AfterBegin } = {}): ReturnType<PostgresDatabase['pool']> => {
    const url = new URL(database.url());
    url.username = role;
    return database.pool({ connectionString: url.href, max: 2, acquireTimeoutMs: 60_000, ...options });
  };
  const setTenant: AfterBegin = (connection, scope) =>
    connection.query("SELECT set_config('app.tenant', $1, true)", [scope.resolve<string>('ITenant')]);
  const as = (one: IDatabasePool, tenant: string): TinyContainer => {
    const request = requestScope(one);
    request.register('ITenant', () => tenant);
    return request;
  };
  const insert = (request: TinyContainer, id: number): Promise<unknown> =>
    runInTransaction(request, (scope) =>
      scope.resolve<IConnection>('IConnection').query('INSERT INTO orders (id) VALUES ($1)', [id]),
    );
  const idsOf = (request: TinyContainer): Promise<number[]> =>
    runInTransaction(request, async (scope) => {
      const rows = await scope
        .resolve<IConnection>('IConnection')
        .query<{ id: number }>('SELECT id FROM orders ORDER BY id');
      return rows.map(({ id }) => id);
    });

  test('shows every tenant its own rows only, on connections that they share', async () => {
    const shared = pool({ afterBegin: setTenant });
    const tenants = ['acme', 'bolt', 'cask'];
    await Promise.all(Array.from({ length: 30 }, (_, id) => insert(as(shared, tenants[id % 3] as string), id)));
    const seen = await Promise.all(tenants.map((tenant) => idsOf(as(shared, tenant))));
    expect(seen).toEqual([0, 1, 2].map((first) => Array.from({ length: 10 }, (_, row) => first + 3 * row)));
    await expect(database.admin.query('SELECT 1 FROM orders')).resolves.toMatchObject({ rowCount: 30 });
    expect(shared.size).toMatchObject({ open: 2, idle: 2 });
  });

  test('refuses a row of another tenant, and shows no row outside of a transaction', async () => {
    const shared = pool({ afterBegin: setTenant });
    await insert(as(shared, 'acme'), 1);
    const forged = runInTransaction(as(shared, 'bolt'), (scope) =>
      scope.resolve<IConnection>('IConnection').query("INSERT INTO orders VALUES (2, 'acme')"),
    );
    await expect(forged).rejects.toMatchObject({ sqlState: '42501' });
    await expect(shared.query('SELECT * FROM orders')).resolves.toEqual([]);
  });

  const outcomeOf = async (statement: Promise<object[]>): Promise<unknown> =>
    statement.then(
      (rows) => rows,
      (error: unknown) => sqlStateOf(error),
    );

  /** Each of these was run by code that had forgotten the transaction, on a connection that had one before. */
  const program = async (on: IDatabasePool): Promise<unknown> => {
    const outside = async (): Promise<unknown[]> => [
      await outcomeOf(on.query('SELECT id FROM orders')),
      await outcomeOf(on.query('INSERT INTO orders (id) VALUES (7)')),
      await outcomeOf(on.query("INSERT INTO orders (id, tenant) VALUES (8, '')")),
      await outcomeOf(on.query('UPDATE orders SET tenant = NULL')),
    ];
    const outcomes: unknown[] = [await outside()];
    for (const [index, tenant] of ['acme', 'bolt'].entries()) {
      await insert(as(on, tenant), index);
      outcomes.push(await idsOf(as(on, tenant)), await outside());
    }
    return outcomes;
  };

  test('gives the same results on new connections, on used ones, and in a sandbox', async () => {
    const refused = [[], '42501', '42501', []];
    const outcomes = [refused, [0], refused, [1], refused];
    const shared = pool({ afterBegin: setTenant });
    await using box = await sandbox(shared);
    await expect(program(box)).resolves.toEqual(outcomes);
    await box.rollback();
    await expect(program(shared)).resolves.toEqual(outcomes);
    const stored = await database.admin.query('SELECT id, tenant FROM orders ORDER BY id');
    expect(stored.rows).toEqual([
      { id: 0, tenant: 'acme' },
      { id: 1, tenant: 'bolt' },
    ]);
  });

  test('shows nothing, and stores nothing, without afterBegin', async () => {
    await insert(as(pool({ afterBegin: setTenant }), 'acme'), 1);
    const without = as(pool(), 'acme');
    await expect(idsOf(without)).resolves.toEqual([]);
    await expect(insert(without, 2)).rejects.toMatchObject({ code: 'AMBIT_TX_STATEMENT_FAILED' });
  });
});
