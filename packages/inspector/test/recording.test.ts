import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { type TransactionCheck, transactionCheck } from '@ambit/transaction/check';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Container, type IContainer, Registration, scope, singleton } from '@ambit/container';
import { recordLine } from '../src/index.js';
import type { GraphView, RequestSummary, RouteStats, ServiceStats, StatementStats } from '../src/wire.js';
import { createApp, SCOPES } from './support/app.js';
import { hosts, type Routes, type RunningApp } from './support/hosts.js';
import { Page } from './support/page.js';

const OPENED = 'ambit:scope:opened';
const LINE = /^packages\/inspector\/test\/recording\.test\.ts:\d+(?::\d+)?$/;
const TOKEN = 'a token that is long enough';

/** The channels of `@ambit/transaction` and the container themselves, on a real database. */
describe.each(hosts)('the inspector on $name', (host) => {
  let container: Container;
  let check: TransactionCheck;
  let app: RunningApp;
  let page: Page | undefined;

  const poolOf = (from: Container) => from.resolve<IDatabasePool>('IDatabasePool' as string);
  const order = (from: IContainer): Promise<unknown> =>
    from.resolve<IConnection>('IConnection' as string).query("INSERT INTO orders VALUES ('canary')");
  const routes: Routes = {
    '/users': (from) => (from.resolve('IUsers') ? 200 : 500),
    '/orders': async (from) => {
      await runInTransaction(from, order);
      return 201;
    },
    '/many': async (from) => {
      for (let i = 0; i < 6; i++) await poolOf(from).query("SELECT id FROM orders WHERE id <> 'canary'");
      return 200;
    },
    '/refused': (from) =>
      runInTransaction<number>(from, () => {
        throw Object.assign(new RangeError('canary'), { statusCode: 409 });
      }).catch(() => 409),
    '/audited': async (from) => {
      await runInTransaction(from, () => poolOf(from).query("INSERT INTO orders VALUES ('canary')")).catch(() => 500);
      return 500;
    },
    '/missing': (from) => (from.resolve('IMissing' as string) ? 200 : 500),
    '/failing': () => {
      throw new Error('no');
    },
    '/never': () => undefined,
    '/logged': () => {
      recordLine({ source: 'audit', level: 'info', text: 'user 4711 was read' });
      return 200;
    },
  };
  const start = async (options: object = {}): Promise<void> => {
    app = await host.start({ container, scopes: SCOPES, ...options }, routes);
  };
  const open = async (): Promise<Page> => (page = await Page.open(app.url));
  const read = async <T>(view: string): Promise<T> => (await (await fetch(`${app.url}/inspector/${view}`)).json()) as T;
  const isDone = ({ state, open: scopes }: RequestSummary): boolean => state !== 'open' && scopes === 0;
  /** By the link of the response. The scope of a request may be closed a moment after its client has it. */
  const recorded = async (path: string) => {
    const { headers } = await fetch(`${app.url}${path}/1?secret=1`);
    const id = Number(headers.get('x-debug-token-link')?.split('-').at(-1));
    let details = await page!.details(id);
    while (!isDone(details)) details = await page!.details(id);
    return details;
  };

  beforeEach(async () => {
    check = transactionCheck({ mode: 'throw', report: () => undefined });
    const pool = check.pool(createSqlitePool({ path: ':memory:' }));
    await pool.query('CREATE TABLE orders (id TEXT)');
    container = createApp();
    container.addRegistration(
      Registration.fromFactory(() => pool)
        .pipe(singleton())
        .to('IDatabasePool'),
    );
  });
  afterEach(async () => {
    page?.leave();
    page = undefined;
    await app.close();
    check.stop();
  });

  it('serves its page, which asks nothing of another site, and no other file', async () => {
    await start();
    const response = await fetch(`${app.url}/inspector`);
    expect(response.url).toBe(`${app.url}/inspector/`);
    expect(response.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(await response.text()).not.toMatch(/https?:|<script>|style=|onclick/);
    const script = await fetch(`${app.url}/inspector/assets/page.js`);
    expect([script.status, script.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
    for (const path of ['assets/..%2fpackage.json', 'assets/index.ts', 'nothing', 'request?id=4711'])
      expect((await fetch(`${app.url}/inspector/${path}`)).status).toBe(404);
  });

  it('records a request from its arrival until its scope is closed, with the line of each statement', async () => {
    await start();
    const { hello } = await open();
    const { headers } = await fetch(`${app.url}/users/1`);
    expect(headers.get('x-debug-token-link')).toBe(`/inspector/#/requests/${hello.boot}-1`);
    const { steps, spans, ...seen } = await recorded('/orders');
    expect(seen).toMatchObject({ method: 'GET', route: '/orders/:id', status: 201, outcome: 'committed', leaks: 0 });
    expect(spans.map(({ box }) => box)).toEqual(['application > request', 'application > request > transaction']);
    expect(
      steps.filter(({ kind }) => kind !== 'connection' && kind !== 'disposed').map(({ kind, sql }) => sql ?? kind),
    ).toEqual([
      'arrived',
      'scope opened',
      'scope opened',
      'begin',
      "INSERT INTO orders VALUES ('…')",
      'commit',
      'scope closed',
      'responded',
      'scope closed',
    ]);
    expect(steps.find(({ kind }) => kind === 'statement')?.where).toMatch(LINE);
    await page!.until(() => page!.latest.now.pool?.waiting === 0);
  });

  it('records what failed: a rollback, a finding, a missing key, a handler, a client that disconnected', async () => {
    await start();
    await open();
    const stepOf = async (path: string, kind: string) =>
      (await recorded(path)).steps.find((step) => step.kind === kind);
    expect(await stepOf('/refused', 'rollback')).toMatchObject({ error: 'RangeError 409' });
    const where = expect.stringMatching(LINE) as string;
    expect(await stepOf('/audited', 'finding')).toMatchObject({ found: 'outside-statement', where });
    expect(await stepOf('/missing', 'failed')).toMatchObject({ error: 'ContainerError AMBIT_NOT_REGISTERED' });
    expect(await recorded('/failing')).toMatchObject({ status: 500, trouble: true });
    const client = new AbortController();
    const left = fetch(`${app.url}/never/1`, { signal: client.signal }).catch(() => undefined);
    await page!.request(({ state }) => state === 'open');
    client.abort();
    await left;
    expect(await page!.request(({ state }) => state === 'aborted')).not.toHaveProperty('status');
  });

  it('adds up routes and statements', async () => {
    await start();
    await open();
    expect(await recorded('/many')).toMatchObject({ statements: 6, alike: 6 });
    await recorded('/orders');
    await fetch(`${app.url}/nowhere`);
    await page!.request(({ status }) => status === 404);
    expect(await read<RouteStats[]>('routes')).toMatchObject([
      { method: 'GET', route: '/many/:id', count: 1, statements: 6, failed: 0 },
      { route: '/orders/:id', statements: 1, rolledBack: 0 },
      { route: '(no route)', refused: 1 },
    ]);
    const where = expect.stringMatching(LINE) as string;
    const sql = (await read<StatementStats[]>('statements')).toSorted((one, other) => other.count - one.count);
    expect(sql).toMatchObject([
      { sql: "SELECT id FROM orders WHERE id <> '…'", count: 6, outside: 6, routes: ['GET /many/:id'], where },
      { sql: "INSERT INTO orders VALUES ('…')", count: 1, outside: 0, where },
    ]);
  });

  it('has the id that the application gives a request, and lines of logs only with the option `lines`', async () => {
    await start({ requestIdHeader: 'Content-Type' });
    await open();
    const { requestId, ...details } = await recorded('/logged');
    expect([requestId, JSON.stringify(details).includes('4711')]).toEqual(['text/plain; charset=utf-8', false]);
    await app.close();
    container = createApp();
    await start({ lines: true });
    await open();
    const line = { source: 'audit', level: 'info', text: 'user 4711 was read' };
    expect((await recorded('/logged')).steps).toContainEqual(expect.objectContaining({ line }));
  });

  it('subscribes to no channel and gives no link until a page is open, and opens no scope for itself', async () => {
    await start();
    await fetch(`${app.url}/inspector/graph`);
    const { headers } = await fetch(`${app.url}/users/1`);
    expect(headers.has('x-debug-token-link')).toBe(false);
    // The inspector of the test before notices within a moment that its server is closed.
    await vi.waitFor(() => expect(channel(OPENED).hasSubscribers).toBe(false));
    const { hello } = await open();
    expect([channel(OPENED).hasSubscribers, hello.always, hello.requests]).toEqual([true, false, []]);
    const opened = vi.fn<() => void>();
    subscribe(OPENED, opened);
    for (const path of ['', 'graph', 'now']) await fetch(`${app.url}/inspector/${path}`);
    unsubscribe(OPENED, opened);
    expect(opened).not.toHaveBeenCalled();
  });

  it('begins with the application with the option `always`, stops with it, and keeps no server from closing', async () => {
    await start({ always: true });
    await fetch(`${app.url}/users/1`);
    const { hello } = await open();
    expect(hello.requests).toMatchObject([{ route: '/users/:id', status: 200 }]);
    expect((await read<ServiceStats[]>('services')).map(({ key }) => key)).toEqual(['IDatabasePool', 'IUsers']);
    const since = performance.now();
    await app.close();
    expect(performance.now() - since).toBeLessThan(2000);
    await expect.poll(() => channel('ambit:statement:sent').hasSubscribers).toBe(false);
  });

  it('draws and explains the graph, also while a predicate of the application fails, whose message it keeps to itself', async () => {
    await start();
    const { nodes, edges } = await read<GraphView>('graph');
    const [users, pool] = ['IUsers', 'IDatabasePool'].map((key) => nodes.find((node) => node.key === key)?.id ?? '');
    expect(edges).toContainEqual({ from: users, to: pool, kind: 'one', problem: false });
    const { explanation } = await read<{ explanation: string }>(`explain?key=${users}`);
    expect(explanation).toContain('singleton factory of [application] > [request]: wins');
    const fails = (): never => {
      throw new Error('no tenant 4711');
    };
    container.addRegistration(Registration.fromValue(1).pipe(scope(fails)).to('ITenant'));
    const response = await fetch(`${app.url}/inspector/graph`);
    expect([response.status, (await response.text()).includes('4711')]).toEqual([500, false]);
  });

  it('is not mounted in production, unless it is enabled with a token', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    await start();
    expect((await fetch(`${app.url}/inspector/`)).status).toBe(404);
    await app.close();
    container = createApp();
    await start({ enabled: true, path: '/behind/the-scenes', token: TOKEN });
    vi.unstubAllEnvs();
    const status = async (headers: Record<string, string> = {}): Promise<number> =>
      (await fetch(`${app.url}/behind/the-scenes/`, { headers })).status;
    expect([await status(), await status({ authorization: `Bearer ${TOKEN}` })]).toEqual([401, 200]);
  });

  // As nginx sends it with `proxy_pass http://127.0.0.1:3000;` alone, and HAProxy without `option forwardfor`.
  it.each([undefined, '', 'staging'])('shows nothing without a token where NODE_ENV is %j', async (mode) => {
    vi.stubEnv('NODE_ENV', mode);
    await start();
    vi.unstubAllEnvs();
    for (const path of ['/', '/graph', '/events', '/now', '/request?id=1', '/assets/main.js']) {
      const response = await fetch(`${app.url}/inspector${path}`);
      expect([path, response.status]).toEqual([path, 403]);
      expect(await response.text()).toContain('set the option `token`');
    }
    expect((await fetch(`${app.url}/inspector/mcp`, { method: 'POST', body: '{}' })).status).toBe(403);
  });
});
