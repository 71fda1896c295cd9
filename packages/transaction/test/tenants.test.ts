import { AsyncLocalStorage } from 'node:async_hooks';
import { Container, hasTag, type IContainer, onStart, Registration, scope, singleton } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import { inScope } from '@ambit/container/work';
import { Pause } from '@ambit/test-kit';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type IConnection, type IDatabasePool, runInTransaction } from '../src/index.js';
import { createSqlitePool } from '../src/sqlite/index.js';
import { TenantScopes, type TenantScopesOptions } from '../src/tenants/index.js';
import { SimulatedClock } from '../src/testing/index.js';
import { foreign, TinyContainer } from './support/container.js';

declare module '@ambit/container' {
  interface ServiceMap {
    ITenant: string;
  }
}

/** The tenants whose scopes were opened and disposed, in this order. */
interface Ledger {
  readonly opened: string[];
  readonly disposed: string[];
}

const containers: [string, () => IContainer][] = [
  ['our container', () => new Container({ tags: ['application'] })],
  ['a foreign container', () => foreign(new TinyContainer({ defers: false }))],
];

describe.each(containers)('the tenants of %s', (_name, open) => {
  let app: IContainer;
  let ledger: Ledger;
  let clock: SimulatedClock;
  const all: TenantScopes[] = [];

  beforeEach(() => {
    app = open();
    ledger = { opened: [], disposed: [] };
    clock = new SimulatedClock();
  });
  afterEach(async () => {
    for (const tenants of all.splice(0)) await tenants.dispose();
    await app.dispose();
  });

  const scopesOf = (options: Partial<TenantScopesOptions> = {}): TenantScopes => {
    const tenants = new TenantScopes(app, {
      clock,
      register: async (tenantScope, tenant) => {
        await Promise.resolve();
        ledger.opened.push(tenant);
        const dispose = tenantScope.dispose.bind(tenantScope);
        tenantScope.dispose = async () => {
          await dispose();
          ledger.disposed.push(tenant);
        };
        tenantScope.register('ITenant', () => tenant);
      },
      ...options,
    });
    all.push(tenants);
    return tenants;
  };
  const request = async (tenants: TenantScopes, tenant: string): Promise<IContainer> =>
    (await tenants.scopeOf(tenant)).createScope({ tags: ['request'] });

  test('are opened once for all who ask at the same time, and stay open', async () => {
    const tenants = scopesOf();
    const requests = await Promise.all(['a', 'b', 'a', 'a', 'b'].map((tenant) => request(tenants, tenant)));
    expect(requests.map((one) => one.resolve('ITenant'))).toEqual(['a', 'b', 'a', 'a', 'b']);
    expect(ledger.opened).toEqual(['a', 'b']);
    for (const one of requests) await one.dispose();
    await (await request(tenants, 'a')).dispose();
    expect(ledger).toEqual({ opened: ['a', 'b'], disposed: [] });
    expect(tenants.size).toBe(2);
  });

  test('are opened in no request, whichever needs them first', async () => {
    const current = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const tenants = scopesOf({ register: () => void seen.push(current.getStore()) });
    const opened = await current.run('a request', () => tenants.scopeOf('a'));
    expect(opened).toBe(await tenants.scopeOf('a'));
    expect(seen).toEqual([undefined]);
  });

  test('are disposed when they were idle for long enough, and opened again', async () => {
    const tenants = scopesOf({ idleTimeoutMs: 5000 });
    await (await request(tenants, 'a')).dispose();
    const busy = await request(tenants, 'b');
    await clock.run();
    expect(clock.now()).toBe(5000);
    expect(ledger.disposed).toEqual(['a']);
    expect(tenants.size).toBe(1);
    await (await request(tenants, 'a')).dispose();
    expect(ledger.opened).toEqual(['a', 'b', 'a']);
    await busy.dispose();
    await clock.run();
    expect(tenants.size).toBe(0);
  });

  test('are evicted when another one needs the place: the least recently used that is not in use', async () => {
    const tenants = scopesOf({ capacity: 3 });
    const busy = await request(tenants, 'a');
    await (await request(tenants, 'b')).dispose();
    await (await request(tenants, 'c')).dispose();
    await (await request(tenants, 'b')).dispose();
    await (await request(tenants, 'd')).dispose();
    expect(ledger.disposed).toEqual(['c']);
    expect(busy.resolve('ITenant')).toBe('a');
    expect(tenants.size).toBe(3);
    await busy.dispose();
  });

  test('wait while all are in use, and get the first place that is free', async () => {
    const tenants = scopesOf({ capacity: 1 });
    const busy = await request(tenants, 'a');
    const other = await request(tenants, 'a');
    const waiting = request(tenants, 'b');
    await busy.dispose();
    await new Promise(setImmediate);
    expect(ledger).toEqual({ opened: ['a'], disposed: [] });
    await other.dispose();
    await (await waiting).dispose();
    expect(ledger).toEqual({ opened: ['a', 'b'], disposed: ['a'] });
  });

  test('are refused when they have waited for too long, or too many wait', async () => {
    const tenants = scopesOf({ capacity: 1, maxWaiting: 1, acquireTimeoutMs: 100 });
    const busy = await request(tenants, 'a');
    const waiting = request(tenants, 'b').catch((error: unknown) => error);
    const refused = { code: 'AMBIT_TX_POOL_FULL', status: 503 };
    await expect(request(tenants, 'c')).rejects.toMatchObject(refused);
    await clock.run();
    expect(await waiting).toMatchObject(refused);
    await busy.dispose();
    await (await request(tenants, 'b')).dispose();
    expect(ledger.opened).toEqual(['a', 'b']);
  });

  test('that fail to open are not kept: the next request tries again, and nothing is left', async () => {
    let attempts = 0;
    const tenants = scopesOf({
      capacity: 1,
      register: async () => {
        attempts += 1;
        await Promise.resolve();
        if (attempts === 1) throw new Error('no such database');
      },
    });
    const failed = await Promise.allSettled([request(tenants, 'a'), request(tenants, 'a')]);
    expect(failed.map((result) => result.status === 'rejected' && result.reason.message)).toEqual([
      'no such database',
      'no such database',
    ]);
    expect(attempts).toBe(1);
    expect(tenants.size).toBe(0);
    await (await request(tenants, 'a')).dispose();
    await (await request(tenants, 'b')).dispose();
    expect(attempts).toBe(3);
  });

  test('are opened again only when their former scope is wholly disposed', async () => {
    const pause = new Pause();
    const order: string[] = [];
    const tenants = scopesOf({
      idleTimeoutMs: 10,
      register: (tenantScope) => {
        order.push('opened');
        const dispose = tenantScope.dispose.bind(tenantScope);
        tenantScope.dispose = async () => {
          await pause.here();
          await dispose();
          order.push('disposed');
        };
      },
    });
    await (await request(tenants, 'a')).dispose();
    const idle = clock.run();
    await pause.reached;
    const again = request(tenants, 'a');
    await idle;
    expect(order).toEqual(['opened']);
    pause.letGo();
    await (await again).dispose();
    expect(order.slice(0, 3)).toEqual(['opened', 'disposed', 'opened']);
  });

  test('count as in use for a second where the caller opens no scope', async () => {
    const tenants = scopesOf({ capacity: 1 });
    await tenants.scopeOf('a');
    const waiting = request(tenants, 'b');
    await new Promise(setImmediate);
    expect(ledger.opened).toEqual(['a']);
    await clock.run();
    await (await waiting).dispose();
    expect(ledger).toEqual({ opened: ['a', 'b'], disposed: ['a'] });
  });

  test('are all disposed with dispose(), which refuses and cancels what waits', async () => {
    const tenants = scopesOf({ capacity: 2 });
    await request(tenants, 'a');
    await (await request(tenants, 'b')).dispose();
    await request(tenants, 'b');
    const waiting = request(tenants, 'c').catch((error: unknown) => error);
    await new Promise(setImmediate);
    await Promise.all([tenants.dispose(), tenants.dispose()]);
    expect(await waiting).toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED' });
    await expect(tenants.scopeOf('a')).rejects.toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED' });
    expect(ledger.disposed.toSorted()).toEqual(['a', 'b']);
    expect(tenants.size).toBe(0);
    await clock.run();
    expect(clock.now()).toBe(0);
  });

  test('that are being opened at shutdown are disposed, too', async () => {
    const pause = new Pause();
    const tenants = scopesOf({ register: () => pause.here() });
    const opening = request(tenants, 'a').catch((error: unknown) => error);
    await pause.reached;
    const disposing = tenants.dispose();
    pause.letGo();
    await disposing;
    expect(await opening).toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED' });
    expect(tenants.size).toBe(0);
  });

  test('whose scope somebody else disposes are opened again', async () => {
    const tenants = scopesOf();
    await (await tenants.scopeOf('a')).dispose();
    expect(tenants.size).toBe(0);
    await (await request(tenants, 'a')).dispose();
    expect(ledger.opened).toEqual(['a', 'a']);
  });

  test('that are retired are opened again at once, and disposed when their last use ends', async () => {
    const tenants = scopesOf();
    const busy = await request(tenants, 'a');
    let closed = false;
    const retiring = tenants.retire('a').then(() => (closed = true));
    const next = await request(tenants, 'a');
    expect(next.resolve('ITenant')).toBe('a');
    expect({ closed, size: tenants.size, ...ledger }).toEqual({
      closed: false,
      size: 2,
      opened: ['a', 'a'],
      disposed: [],
    });
    await busy.dispose();
    await retiring;
    await new Promise(setImmediate);
    expect(ledger).toEqual({ opened: ['a', 'a'], disposed: ['a'] });
    expect(tenants.size).toBe(1);
    await next.dispose();
    await (await request(tenants, 'a')).dispose();
    expect(ledger.opened).toHaveLength(2);
  });

  test('are not retired for the sake of a scope that is not theirs any more', async () => {
    const tenants = scopesOf();
    const former = await tenants.scopeOf('a');
    const busy = former.createScope({ tags: ['request'] });
    void tenants.retire('a', former);
    const next = await request(tenants, 'a');
    await tenants.retire('a', former);
    await (await request(tenants, 'a')).dispose();
    expect(ledger.opened).toEqual(['a', 'a']);
    for (const one of [busy, next]) await one.dispose();
  });

  test('that are retired while unused, or not open at all, are disposed at once', async () => {
    const tenants = scopesOf();
    await (await request(tenants, 'a')).dispose();
    await Promise.all([tenants.retire('a'), tenants.retire('a'), tenants.retire('b')]);
    await new Promise(setImmediate);
    expect(ledger).toEqual({ opened: ['a'], disposed: ['a'] });
    expect(tenants.size).toBe(0);
  });

  test('that are retired while they are opened serve those who wait, and nobody after them', async () => {
    const pause = new Pause();
    const tenants = scopesOf({ register: () => pause.here() });
    const first = request(tenants, 'a');
    await pause.reached;
    const retiring = tenants.retire('a');
    const second = request(tenants, 'a');
    pause.letGo();
    expect(await first).not.toBe(await second);
    expect(tenants.size).toBe(2);
    await (await first).dispose();
    await retiring;
    expect(tenants.size).toBe(1);
    await (await second).dispose();
  });

  test('that are retired and fail to open are forgotten', async () => {
    const pause = new Pause();
    const tenants = scopesOf({
      register: async () => {
        await pause.here();
        throw new Error('no such database');
      },
    });
    const failed = request(tenants, 'a').catch((error: unknown) => error);
    await pause.reached;
    const retiring = tenants.retire('a');
    pause.letGo();
    await retiring;
    expect(await failed).toMatchObject({ message: 'no such database' });
    expect(tenants.size).toBe(0);
  });

  test('keep their place while they are retired and in use, and are disposed at shutdown', async () => {
    const tenants = scopesOf({ capacity: 1, acquireTimeoutMs: 100 });
    await request(tenants, 'a');
    void tenants.retire('a');
    const waiting = request(tenants, 'a').catch((error: unknown) => error);
    await clock.run();
    expect(await waiting).toMatchObject({ code: 'AMBIT_TX_POOL_FULL' });
    await tenants.dispose();
    await new Promise(setImmediate);
    expect(ledger).toEqual({ opened: ['a'], disposed: ['a'] });
    expect(tenants.size).toBe(0);
  });

  test('that fail to dispose are reported, and keep no place', async () => {
    const onError = vi.fn<(error: Error, tenant: string) => void>();
    const tenants = scopesOf({
      onError,
      idleTimeoutMs: 10,
      register: (tenantScope) => {
        const dispose = tenantScope.dispose.bind(tenantScope);
        tenantScope.dispose = async () => {
          await dispose();
          throw new Error('stuck');
        };
      },
    });
    await (await request(tenants, 'a')).dispose();
    await clock.run();
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'AMBIT_TX_SCOPE_FAILED' }), 'a');
    expect(tenants.size).toBe(0);
  });
});

describe('a database for each tenant', () => {
  let app: Container;
  let closed: string[];
  let tenants: TenantScopes<Container>;

  beforeEach(() => {
    closed = [];
    app = new Container({ tags: ['application'] }).addRegistration(
      Registration.fromFactory(
        (tenant): IDatabasePool & AsyncDisposable => {
          const pool = createSqlitePool({ path: ':memory:' });
          const close = pool.close.bind(pool);
          pool[Symbol.asyncDispose] = async () => {
            closed.push(tenant);
            await close();
          };
          return pool;
        },
        ['ITenant'],
      )
        .pipe(
          singleton(),
          scope(hasTag('tenant')),
          onStart((pool: IDatabasePool) => pool.query('CREATE TABLE orders (name text)')),
        )
        .to('IDatabasePool'),
    );
    tenants = new TenantScopes(app, {
      start: true,
      register: (tenantScope, tenant) => {
        tenantScope.register('ITenant', () => tenant);
        tenantScope.resolve('IDatabasePool');
      },
    });
  });
  afterEach(() => app.dispose());

  const order = (requestScope: IContainer, name: string): Promise<unknown[]> =>
    runInTransaction(requestScope, async (inner) => {
      const connection = inner.resolve<IConnection>('IConnection');
      await connection.query('INSERT INTO orders VALUES ($1)', [name]);
      return connection.query('SELECT name FROM orders');
    });

  test('is out of reach from the scope of another tenant, and from the application', async () => {
    const [acme, bolt] = await Promise.all(['acme', 'bolt'].map((tenant) => tenants.scopeOf(tenant)));
    const requests = [acme, bolt].map((tenant) => (tenant as Container).createScope({ tags: ['request'] }));
    const pools = requests.map((one) => one.resolve('IDatabasePool'));
    expect(pools[0]).toBe((acme as Container).resolve('IDatabasePool'));
    expect(pools[0]).not.toBe(pools[1]);
    expect(() => app.resolve('IDatabasePool')).toThrow();
    const seen = await Promise.all(requests.map((one, index) => order(one, `of ${index}`)));
    expect(seen).toEqual([[{ name: 'of 0' }], [{ name: 'of 1' }]]);
    // Within an open transaction, too, no scope of one tenant leads to a connection of the other.
    await runInTransaction(requests[0] as Container, async (ofAcme) => {
      await runInTransaction(requests[1] as Container, async (ofBolt) => {
        const connections = [ofAcme, ofBolt].map((one) => one.resolve<IConnection>('IConnection'));
        expect(connections[0]).not.toBe(connections[1]);
        await expect(connections[1]?.query('SELECT name FROM orders')).resolves.toEqual([{ name: 'of 1' }]);
      });
    });
    for (const one of requests) await one.dispose();
  });

  test('is closed with the application', async () => {
    await inScope(await tenants.scopeOf('acme'), {}, (job) => order(job, 'tea'));
    expect(closed).toEqual([]);
    expect(openScopes(app)).toHaveLength(1);
    await app.dispose();
    expect(closed).toEqual(['acme']);
    await expect(tenants.scopeOf('acme')).rejects.toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED' });
  });
});

const register = (): void => undefined;

test.each([
  [{}, 'register must be a function'],
  [{ register, capacity: 0 }, 'capacity must be a whole number'],
  [{ register, idleTimeoutMs: -1 }, 'idleTimeoutMs must be a number'],
])('the options %o are refused', (options, message) => {
  const create = (): unknown => new TenantScopes(new TinyContainer(), options as TenantScopesOptions);
  expect(create).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION', message: expect.stringContaining(message) }));
});

test.each([[''], [undefined]])('the name %o is no tenant', async (name) => {
  const tenants = new TenantScopes(new TinyContainer(), { register });
  await expect(tenants.scopeOf(name as string)).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
});
