import { type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Container } from '@ambit/container';
import type { RouteStats, StatementStats } from '../src/wire.js';
import { SCOPES } from './support/app.js';
import { hosts, type RunningApp } from './support/hosts.js';
import { Page } from './support/page.js';

const LINE = /^packages\/inspector\/test\/statements\.test\.ts:\d+:\d+$/;

const users = (scope: Container): Promise<unknown> =>
  scope.resolve<IDatabasePool>('IDatabasePool' as string).query("SELECT name FROM users WHERE name <> 'canary'");

describe.each(hosts)('statements on $name', (host) => {
  let app: RunningApp;
  let page: Page;

  beforeEach(async () => {
    const pool = createSqlitePool({ path: ':memory:' });
    await pool.query('CREATE TABLE users (name TEXT)');
    const container = new Container({ tags: ['application'] });
    container.register('IDatabasePool', () => pool);
    app = await host.start(
      { container, scopes: SCOPES },
      {
        '/users': async (scope) => {
          await users(scope);
          return 200;
        },
        '/many': async (scope) => {
          for (let i = 0; i < 12; i++) await users(scope);
          return 200;
        },
        '/orders': async (scope) => {
          await runInTransaction(scope, (transaction) =>
            transaction.resolve<IConnection>('IConnection' as string).query("INSERT INTO users VALUES ('canary')"),
          );
          return 201;
        },
        '/broken': async (scope) => {
          const pooled = scope.resolve<IDatabasePool>('IDatabasePool' as string);
          await pooled.query('SELECT canary FROM users').catch(() => undefined);
          return 503;
        },
      },
    );
    page = await Page.open(app.url);
  });
  afterEach(async () => {
    page.leave();
    await app.close();
  });

  const request = async (path: string): Promise<number> => {
    await fetch(`${app.url}${path}/1`);
    const { id } = await page.request(
      ({ route, state, open }) => route === `${path}/:id` && state !== 'open' && open === 0,
    );
    return id;
  };
  const read = async <T>(view: string): Promise<T> => (await (await fetch(`${app.url}/inspector/${view}`)).json()) as T;

  it('are shown outside of a transaction, with the line that sent them', async () => {
    const { steps } = await page.details(await request('/users'));
    expect(steps.filter(({ kind }) => kind === 'statement')).toMatchObject([
      { sql: "SELECT name FROM users WHERE name <> '…'", outside: true, where: expect.stringMatching(LINE) as string },
    ]);
  });

  it('are shown within a transaction, with the line that sent them', async () => {
    const { steps } = await page.details(await request('/orders'));
    const statement = steps.find(({ kind }) => kind === 'statement');
    expect(statement).toMatchObject({ span: 1, where: expect.stringMatching(LINE) as string });
    expect(statement).not.toHaveProperty('outside');
  });

  it('are counted for each request, and how often the same one was sent', async () => {
    await request('/many');
    const { statements, alike, texts } = [...page.requests.values()].at(-1)!;
    expect([statements, alike, texts.length]).toEqual([12, 12, 1]);
    expect(page.names[texts[0]!]).toBe("SELECT name FROM users WHERE name <> '…'");
  });

  it('are listed by their text, with how long they took and which routes send them', async () => {
    await request('/many');
    await request('/orders');
    await request('/broken');
    const all = await read<StatementStats[]>('statements');
    expect(all).toMatchObject([
      { sql: "SELECT name FROM users WHERE name <> '…'", count: 12, outside: 12, failed: 0, routes: ['GET /many/:id'] },
      { sql: "INSERT INTO users VALUES ('…')", count: 1, outside: 0, routes: ['GET /orders/:id'] },
      { sql: 'SELECT canary FROM users', count: 1, outside: 1, failed: 1 },
    ]);
    for (const { where, totalMs, longestMs, p95 } of all) {
      expect(where).toMatch(LINE);
      expect(totalMs).toBeGreaterThanOrEqual(longestMs);
      expect(longestMs).toBeGreaterThanOrEqual(p95);
    }
  });

  it('are added up for each route', async () => {
    await request('/many');
    await request('/orders');
    await request('/broken');
    await fetch(`${app.url}/nowhere`);
    await page.request(({ status }) => status === 404);
    const routes = await read<RouteStats[]>('routes');
    expect(routes).toMatchObject([
      { method: 'GET', route: '/many/:id', count: 1, statements: 12, failed: 0, refused: 0 },
      { route: '/orders/:id', count: 1, statements: 1, rolledBack: 0 },
      { route: '/broken/:id', count: 1, failed: 1 },
      { route: '(no route)', count: 1, refused: 1 },
    ]);
    for (const { p50, p95, p99, longest, total, count } of routes) {
      expect([p50, p95, p99, longest]).toEqual([p50, p95, p99, longest].toSorted((one, other) => one - other));
      expect(total).toBeLessThanOrEqual(longest * count + 0.001);
    }
  });
});
