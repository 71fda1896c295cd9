import { createSqlitePool } from '@ambit/transaction/sqlite';
import { type IConnection, runInTransaction } from '@ambit/transaction';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Container } from '@ambit/container';
import { SCOPES } from './support/app.js';
import { hosts, type RunningApp } from './support/hosts.js';
import { Page } from './support/page.js';

/** The channels of `@ambit/transaction` itself, on a real database. */
describe.each(hosts)('a real transaction on $name', (host) => {
  let app: RunningApp;
  let page: Page;

  beforeEach(async () => {
    const pool = createSqlitePool({ path: ':memory:' });
    await pool.query('CREATE TABLE orders (id TEXT)');
    const container = new Container({ tags: ['application'] });
    container.register('IDatabasePool', () => pool);
    app = await host.start(
      { container, scopes: SCOPES },
      {
        '/orders': async (scope) => {
          await runInTransaction(scope, (transaction) =>
            transaction.resolve<IConnection>('IConnection' as string).query("INSERT INTO orders VALUES ('secret')"),
          );
          return 201;
        },
      },
    );
    page = await Page.open(app.url);
  });
  afterEach(async () => {
    page.leave();
    await app.close();
  });

  it('is recorded from acquiring the connection to COMMIT', async () => {
    await fetch(`${app.url}/orders/1`);
    const { id } = await page.request(({ outcome, open }) => outcome === 'committed' && open === 0);
    const { steps } = await page.details(id);
    const kinds = steps.map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['connection', 'begin', 'statement', 'commit']));
    expect(steps.find(({ kind }) => kind === 'statement')?.sql).toBe("INSERT INTO orders VALUES ('…')");
  });

  it('reports how many connections the pool has', async () => {
    await page.until(() => page.latest.now.pool?.waiting === 0);
    expect(page.latest.now.pool).toMatchObject({ open: expect.any(Number), idle: expect.any(Number) });
  });
});
