import { Container, Registration } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { describe, expect, it } from 'vitest';
import { beginTransaction, type IConnection, type IDatabasePool, runInTransaction } from '../src/index.js';
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

describe('the hint where a key of a database is missing', () => {
  const app = new Container({ tags: ['application'] });
  app.register('IDatabasePool', () => new FakePool());
  app.addRegistration(Registration.fromClass(Orders, ['IConnection']).to('IOrders'));

  it('IConnection without a transaction: how to open one, and no registration', () => {
    const request = app.createScope({ tags: ['request'] });
    for (const key of ['IConnection', 'IOrders']) {
      expect(hintFor(request, key)).toMatch(/withTransaction\(\) on the route.*runInTransaction\(\)/);
      expect(hintFor(request, key)).not.toContain('.to(');
    }
  });

  it('IConnection after the transaction: that it has completed', async () => {
    const request = app.createScope({ tags: ['request'] });
    const transaction = await beginTransaction(request);
    await transaction.commit();
    expect(hintFor(request)).toMatch(/after the response .* has completed/);
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
    empty.addRegistration(Registration.fromFactory((pool: IDatabasePool) => pool, ['IDatabasePool']).to('IOrders'));
    expect(() => verify(empty)).toThrow(hint);
  });
});
