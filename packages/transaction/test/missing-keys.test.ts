import { type Binding, Container, externallyOwned, Registration, singleton } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type IConnection, type IDatabasePool, runInTransaction } from '../src/index.js';
import { beginTransaction } from '../src/host.js';
import { FakePool } from '../src/testing/index.js';

class Orders {
  readonly connection: IConnection;
  constructor(connection: IConnection) {
    this.connection = connection;
  }
}

/** What the error says, for the key that is missing. */
function hintFor(scope: Container, key = 'IConnection'): string {
  try {
    scope.resolve(key);
  } catch (error) {
    return (error as { hint: string }).hint;
  }
  throw new Error('Nothing is missing');
}

const open = (...registrations: Binding[]): Container =>
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
    expect(() => verify(open(), request)).toThrow(/AMBIT_NOT_REGISTERED/);
    expect(() => verify(open(), request)).toThrow(/createPostgresPool\(\).*singleton\(\)/);
    expect(() => verify(open(), { tags: ['request'] })).not.toThrow();
  });

  it.each<[string, Binding[]]>([
    ['a singleton', [pool.pipe(singleton()).to('IDatabasePool')]],
    ['a value', [Registration.fromValue(new FakePool()).to('IDatabasePool')]],
    ['a part of another service', [pool.pipe(externallyOwned()).to('IDatabasePool')]],
    ['an alias', [Registration.alias<IDatabasePool>('IMain').to('IDatabasePool'), pool.pipe(singleton()).to('IMain')]],
  ])('may be %s', (_, registrations) => {
    expect(() => verify(open(...registrations), request)).not.toThrow();
  });

  it.each<[string, Binding[]]>([
    ['itself', [pool.to('IDatabasePool')]],
    ['behind an alias', [Registration.alias<IDatabasePool>('IMain').to('IDatabasePool'), pool.to('IMain')]],
  ])('without singleton() is reported by verify(), and refused by a transaction: %s', async (_, registrations) => {
    const app = open(...registrations);
    expect(() => verify(app, request)).toThrow(/AMBIT_UNDISPOSED/);
    expect(() => verify(app, request)).toThrow(/add singleton\(\)/);
    await expect(runInTransaction(app, async () => undefined)).rejects.toMatchObject({
      code: 'AMBIT_UNDISPOSED',
      message: expect.stringContaining(".pipe(singleton()).to('IDatabasePool')"),
    });
  });

  it('of another database is asked for where the declaration says so', () => {
    const reports = { tags: ['transaction'], registers: ['IReportsConnection'], requires: ['IReportsPool'] };
    expect(() => verify(open(), reports)).toThrow(/'IReportsPool'/);
    expect(() => verify(open(pool.to('IReportsPool')), reports)).toThrow(/AMBIT_UNDISPOSED/);
    expect(() => verify(open(pool.pipe(singleton()).to('IReportsPool')), reports)).not.toThrow();
  });

  it('is resolved once for each transaction after the first', async () => {
    const app = open(Registration.fromValue(new FakePool()).to('IDatabasePool'));
    const resolve = vi.spyOn(Container.prototype, 'resolve');
    onTestFinished(() => resolve.mockRestore());
    for (let i = 0; i < 3; i++) await runInTransaction(app.createScope({ tags: ['request'] }), async () => undefined);
    const resolved = resolve.mock.calls.filter(([key]) => key === 'IDatabasePool').length;
    expect(resolved).toBe(4);
  });
});
