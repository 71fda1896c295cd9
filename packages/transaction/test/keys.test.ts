import { type Binding, Container, externallyOwned, type IContainer, Registration, singleton } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { beginTransaction, TransactionStart } from '../src/host.js';
import { afterCommit, type IConnection, type IDatabasePool, runInTransaction, transactionOf } from '../src/index.js';
import { FakePool } from '../src/testing/index.js';
import { TinyContainer } from './support/container.js';
import { databases, type TestDatabase } from './support/databases.js';

class Orders {
  readonly connection: IConnection;
  constructor(connection: IConnection) {
    this.connection = connection;
  }
}

/** The message of the error, for the key that is missing. */
function hintFor(scope: Container, key = 'IConnection'): string {
  try {
    scope.resolve(key);
  } catch (error) {
    return (error as { hint: string }).hint;
  }
  throw new Error('Nothing is missing');
}

const openWith = (...registrations: Binding[]): Container =>
  new Container({ tags: ['application'] }).addRegistration(...registrations);

describe('the hint where a key of a database is missing', () => {
  const app = new Container({ tags: ['application'] });
  const pool = new FakePool();
  app.register('IDatabasePool', () => pool);
  app.addRegistration(Registration.fromClass(Orders, ['IConnection']).to('IOrders'));

  it('IConnection without a transaction: how to open one, and no registration', () => {
    const request = app.createScope({ tags: ['request'] });
    for (const key of ['IConnection', 'IOrders']) {
      expect(hintFor(request, key)).toMatch(/withTransaction\(\) on the route.*runInTransaction\(\)/);
      expect(hintFor(request, key)).not.toContain('.to(');
    }
  });

  it('IConnection after the transaction, or from a scope that was disposed after the response: that it has completed', async () => {
    const request = app.createScope({ tags: ['request'] });
    const transaction = await beginTransaction(request);
    await transaction.commit();
    expect(hintFor(request)).toMatch(/after the response .* has completed/);
    await request.dispose();
    for (const scope of [request, transaction.scope as Container]) {
      expect(hintFor(scope)).toMatch(/the transaction has completed.*with the response/);
      expect(hintFor(scope, 'IOrders')).toContain('something outlived it');
    }
  });

  it('IConnection in verify(): the scope to declare', () => {
    expect(() => verify(app, { tags: ['request'] })).toThrow(
      /declare that scope: \{ tags: \['transaction'\], registers: \['IConnection'\] \}/,
    );
    expect(() => verify(app, { tags: ['request'] })).not.toThrow(/\.to\('IConnection'\)/);
  });

  it('IDatabasePool: the pools, and singleton()', async () => {
    const empty = new Container({ tags: ['application'] });
    const hint = /createPostgresPool\(\).*createSqlitePool\(\).*singleton\(\).*\.to\('IDatabasePool'\)/;
    expect(hintFor(empty, 'IDatabasePool')).toMatch(hint);
    await expect(runInTransaction(empty, async () => undefined)).rejects.toMatchObject({
      code: 'AMBIT_NOT_REGISTERED',
      message: expect.stringMatching(hint),
    });
    empty.addRegistration(Registration.fromFactory((one: IDatabasePool) => one, ['IDatabasePool']).to('IOrders'));
    expect(() => verify(empty)).toThrow(hint);
  });
});

describe('the pool of a scope of transactions', () => {
  const request = { tags: ['request'], scopes: [{ tags: ['transaction'], registers: ['IConnection'] }] };
  const pool = Registration.fromFactory(() => new FakePool());

  it('is asked for by verify(), with the pools there are', () => {
    expect(() => verify(openWith(), request)).toThrow(/AMBIT_NOT_REGISTERED/);
    expect(() => verify(openWith(), request)).toThrow(/createPostgresPool\(\).*singleton\(\)/);
    expect(() => verify(openWith(), { tags: ['request'] })).not.toThrow();
  });

  it.each<[string, Binding[]]>([
    ['a singleton', [pool.pipe(singleton()).to('IDatabasePool')]],
    ['a value', [Registration.fromValue(new FakePool()).to('IDatabasePool')]],
    ['a part of another service', [pool.pipe(externallyOwned()).to('IDatabasePool')]],
    ['an alias', [Registration.alias<IDatabasePool>('IMain').to('IDatabasePool'), pool.pipe(singleton()).to('IMain')]],
  ])('may be %s', (_, registrations) => {
    expect(() => verify(openWith(...registrations), request)).not.toThrow();
  });

  it.each<[string, Binding[]]>([
    ['itself', [pool.to('IDatabasePool')]],
    ['behind an alias', [Registration.alias<IDatabasePool>('IMain').to('IDatabasePool'), pool.to('IMain')]],
  ])('without singleton() is reported by verify(), and refused by a transaction: %s', async (_, registrations) => {
    const app = openWith(...registrations);
    expect(() => verify(app, request)).toThrow(/AMBIT_UNDISPOSED/);
    expect(() => verify(app, request)).toThrow(/add singleton\(\)/);
    await expect(runInTransaction(app, async () => undefined)).rejects.toMatchObject({
      code: 'AMBIT_UNDISPOSED',
      message: expect.stringContaining(".pipe(singleton()).to('IDatabasePool')"),
    });
  });

  it('of another database is asked for where the declaration says so', () => {
    const reports = { tags: ['transaction'], registers: ['IReportsConnection'], requires: ['IReportsPool'] };
    expect(() => verify(openWith(), reports)).toThrow(/'IReportsPool'/);
    expect(() => verify(openWith(pool.to('IReportsPool')), reports)).toThrow(/AMBIT_UNDISPOSED/);
    expect(() => verify(openWith(pool.pipe(singleton()).to('IReportsPool')), reports)).not.toThrow();
  });

  it('is resolved once for each transaction after the first', async () => {
    const app = openWith(Registration.fromValue(new FakePool()).to('IDatabasePool'));
    const resolve = vi.spyOn(Container.prototype, 'resolve');
    onTestFinished(() => resolve.mockRestore());
    for (let i = 0; i < 3; i++) await runInTransaction(app.createScope({ tags: ['request'] }), async () => undefined);
    const resolved = resolve.mock.calls.filter(([key]) => key === 'IDatabasePool').length;
    expect(resolved).toBe(4);
  });
});

const analytics = { pool: 'IAnalyticsPool', connection: 'IAnalyticsConnection' };

describe.each(databases.filter(({ missing }) => !missing))('a second database on $name', ({ open }) => {
  let opened: TestDatabase[];
  let main: IDatabasePool;
  let other: IDatabasePool;
  let request: TinyContainer;

  beforeEach(async () => {
    opened = [await open(), await open()];
    const [one, two] = opened.map((database) => database.pool({ max: 1 }));
    main = one as IDatabasePool;
    other = two as IDatabasePool;
    await main.query('CREATE TABLE orders (id varchar(36) PRIMARY KEY)');
    await other.query('CREATE TABLE events (id varchar(36) PRIMARY KEY)');
    const app = new TinyContainer();
    app.register('IDatabasePool', () => main);
    app.register('IAnalyticsPool', () => other);
    request = app.createScope({ tags: ['request'] });
  });
  afterEach(() => Promise.all(opened.map((database) => database.drop())));

  const order = (scope: { resolve<T>(key: string): T }): Promise<unknown> =>
    scope.resolve<IConnection>('IConnection').query('INSERT INTO orders VALUES ($1)', ['a']);
  const event = (scope: { resolve<T>(key: string): T }): Promise<unknown> =>
    scope.resolve<IConnection>('IAnalyticsConnection').query('INSERT INTO events VALUES ($1)', ['a']);
  const stored = async (): Promise<{ orders: number; events: number }> => ({
    orders: (await main.query('SELECT * FROM orders')).length,
    events: (await other.query('SELECT * FROM events')).length,
  });

  test('has its transaction under its own key, and leaves the main one alone', async () => {
    await runInTransaction(
      request,
      async (scope) => {
        await event(scope);
        expect(() => scope.resolve('IConnection')).toThrow();
      },
      analytics,
    );
    await expect(stored()).resolves.toEqual({ orders: 0, events: 1 });
  });

  test.each([
    ['its scope', (inner: IContainer) => inner],
    ['the scope that both began in', () => request],
  ])('has callbacks of its own: afterCommit() in %s is about the database whose connection is named', async (_, of) => {
    const called: string[] = [];
    await runInTransaction(request, async (scope) => {
      const register = async (inner: IContainer): Promise<void> => {
        afterCommit(of(inner), () => called.push('events'), { connection: analytics.connection });
        // From the scope that both began in, the transaction on the main database is found as well.
        afterCommit(of(inner), () => called.push('orders'));
      };
      await runInTransaction(scope, register, analytics);
      expect(called).toEqual(['events']);
    });
    expect(called).toEqual(['events', 'orders']);
  });

  test('has a transaction of its own inside that of the main one: it commits although that rolls back', async () => {
    const outer = runInTransaction(request, async (scope) => {
      await order(scope);
      await runInTransaction(scope, event, analytics);
      throw new Error('out of stock');
    });
    await expect(outer).rejects.toThrow('out of stock');
    await expect(stored()).resolves.toEqual({ orders: 0, events: 1 });
  });

  test('has a transaction that the main one does not lose with its failure', async () => {
    await runInTransaction(request, async (scope) => {
      await order(scope);
      const inner = runInTransaction(
        scope,
        async (both) => {
          await event(both);
          throw new Error('too slow');
        },
        analytics,
      );
      await expect(inner).rejects.toThrow('too slow');
    });
    await expect(stored()).resolves.toEqual({ orders: 1, events: 0 });
  });

  test('is rolled back with the scope around it, where it was left open', async () => {
    let left: Promise<unknown> = Promise.resolve();
    await runInTransaction(request, async (scope) => {
      await order(scope);
      const inner = await beginTransaction(scope, analytics);
      await event(inner.scope);
      left = new Promise((resolve) => inner.onLost(resolve));
    });
    await left;
    await expect(stored()).resolves.toEqual({ orders: 1, events: 0 });
  });

  test('knows a savepoint by the database, whatever lies between', async () => {
    await runInTransaction(request, async (scope) => {
      await runInTransaction(
        scope,
        async (both) => {
          await event(both);
          const nested = runInTransaction(both, async (again) => {
            await order(again);
            throw new Error('undone');
          });
          await expect(nested).rejects.toThrow('undone');
          const duplicate = runInTransaction(both, event, analytics);
          await expect(duplicate).rejects.toMatchObject({ sqlState: '23505' });
          expect(transactionOf(both)).toBe(transactionOf(scope));
          expect(transactionOf(both)).not.toBe(transactionOf(both, { connection: 'IAnalyticsConnection' }));
        },
        analytics,
      );
      expect(transactionOf(scope, { connection: 'IAnalyticsConnection' })).toBeUndefined();
    });
    await expect(stored()).resolves.toEqual({ orders: 0, events: 1 });
  });

  test('refuses a second transaction on its pool, under whatever key', async () => {
    const outer = await beginTransaction(request, analytics);
    const alreadyOpen = { code: 'AMBIT_TX_ALREADY_OPEN' };
    await expect(beginTransaction(outer.scope, analytics)).rejects.toMatchObject(alreadyOpen);
    const renamed = { ...analytics, connection: 'IOther' };
    await expect(new TransactionStart(outer.scope, renamed).begun).rejects.toMatchObject(alreadyOpen);
    const nested = runInTransaction(outer.scope, event, renamed);
    await expect(nested).rejects.toThrow('A nested run cannot change connection of the transaction around it');
    const inner = await beginTransaction(outer.scope);
    await inner.commit();
    await outer.rollback();
  });
});

test.each([
  { pool: 'IAnalyticsPool' },
  { connection: 'IAnalyticsConnection' },
  { pool: '', connection: 'IConnection' },
])('the keys %o are refused: one alone would send the statements of one database to the other', async (keys) => {
  const refused = { code: 'AMBIT_OPTION', message: expect.stringContaining('must be a key') };
  await expect(runInTransaction(new TinyContainer(), async () => undefined, keys)).rejects.toMatchObject(refused);
  await expect(beginTransaction(new TinyContainer(), keys)).rejects.toMatchObject(refused);
});
