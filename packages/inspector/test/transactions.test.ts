import { createSqlitePool } from '@ambit/transaction/sqlite';
import { type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { type TransactionCheck, transactionCheck } from '@ambit/transaction/check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Container } from '@ambit/container';
import { SCOPES } from './support/app.js';
import { hosts, type RunningApp } from './support/hosts.js';
import { Page } from './support/page.js';

/** The channels of `@ambit/transaction` itself, on a real database. */
describe.each(hosts)('a real transaction on $name', (host) => {
  let app: RunningApp;
  let page: Page;
  let check: TransactionCheck;

  beforeEach(async () => {
    check = transactionCheck({ mode: 'throw', report: () => undefined });
    const pool = check.pool(createSqlitePool({ path: ':memory:' }));
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
        '/refused': async (scope) => {
          const refuse = (): Promise<number> => {
            throw Object.assign(new RangeError('secret'), { statusCode: 409 });
          };
          return runInTransaction<number>(scope, refuse).catch(() => 409);
        },
        '/audited': async (scope) => {
          const audit = (): Promise<unknown> =>
            scope.resolve<IDatabasePool>('IDatabasePool' as string).query("INSERT INTO orders VALUES ('secret')"); // audit
          return runInTransaction(scope, audit).then(
            () => 201,
            () => 500,
          );
        },
      },
    );
    page = await Page.open(app.url);
  });
  afterEach(async () => {
    page.leave();
    await app.close();
    check.stop();
  });

  it('is recorded from acquiring the connection to COMMIT', async () => {
    await fetch(`${app.url}/orders/1`);
    const { id } = await page.request(({ outcome, open }) => outcome === 'committed' && open === 0);
    const { steps } = await page.details(id);
    const kinds = steps.map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['connection', 'begin', 'statement', 'commit']));
    expect(steps.find(({ kind }) => kind === 'statement')?.sql).toBe("INSERT INTO orders VALUES ('…')");
  });

  it('has the cause of a ROLLBACK, without its message', async () => {
    await fetch(`${app.url}/refused/1`);
    const { id } = await page.request(({ outcome, open }) => outcome === 'rolled back' && open === 0);
    const { steps } = await page.details(id);
    expect(steps.find(({ kind }) => kind === 'rollback')).toMatchObject({ error: 'RangeError 409' });
  });

  it('has a mark where the transaction check has found something, with the line of code', async () => {
    await fetch(`${app.url}/audited/1`);
    const { id, findings } = await page.request(({ status, open }) => status === 500 && open === 0);
    expect(findings).toBe(1);
    const { steps } = await page.details(id);
    expect(steps.filter(({ kind }) => kind === 'finding')).toMatchObject([
      {
        found: 'outside-statement',
        where: expect.stringMatching(/^packages\/inspector\/test\/transactions\.test\.ts:\d+$/),
        sql: 'INSERT INTO orders VALUES (?)',
      },
    ]);
  });

  it('reports how many connections the pool has', async () => {
    await page.until(() => page.latest.now.pool?.waiting === 0);
    expect(page.latest.now.pool).toMatchObject({ open: expect.any(Number), idle: expect.any(Number) });
  });
});
