import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type IConnection, runInTransaction } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Container, IContainer } from '@ambit/container';
import type { RequestDetails, State } from '../src/wire.js';
import { createApp, hosts, type Routes, type RunningApp, SCOPES, TOKEN } from './support/app.js';

const OPENED = 'ambit:scope:opened';
const LINE = expect.stringMatching(/^packages\/inspector\/test\/recording\.test\.ts:\d+(?::\d+)?$/) as string;

/** The channels of `@ambit/transaction` and the container themselves, on a real database. What is wrong, faults.test.ts says. */
describe.each(hosts)('the inspector on $name', (host) => {
  let container: Container;
  let app: RunningApp;

  const order = (from: IContainer): Promise<unknown> =>
    from.resolve<IConnection>('IConnection' as string).query("INSERT INTO orders VALUES ('canary')");
  const routes: Routes = {
    '/users': (from) => void from.resolve('IUsers'),
    '/orders': (from) => runInTransaction(from, order).then(() => 201),
  };
  const start = async (options: object = {}): Promise<void> => {
    app = await host.start({ container, scopes: SCOPES, ...options }, routes);
  };
  /** By the link of the response. The scope of a request may be closed a moment after its client has it. */
  const recorded = async (path: string): Promise<RequestDetails> => {
    const { headers } = await fetch(`${app.url}${path}/1?secret=1`);
    const id = headers.get('x-debug-token-link')?.split('-').at(-1);
    await expect.poll(() => app.read(`request?id=${id}`)).toMatchObject({ state: 'responded', open: 0 });
    return app.read(`request?id=${id}`);
  };

  beforeEach(async () => {
    const pool = createSqlitePool({ path: ':memory:' });
    await pool.query('CREATE TABLE orders (id TEXT)');
    container = createApp();
    container.register('IDatabasePool', () => pool);
  });
  afterEach(() => app.close());

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
    await start({ always: true });
    await recorded('/orders');
    const { steps, ...seen } = await recorded('/orders');
    expect(seen).toMatchObject({ method: 'GET', route: '/orders/:id', status: 201, outcome: 'committed', causes: [] });
    const shown = steps.filter(({ kind }) => kind !== 'connection' && kind !== 'disposed');
    expect(shown.map(({ kind, box, sql = box ?? kind }) => sql)).toEqual([
      'arrived',
      'application > request',
      'application > request > transaction',
      'begin',
      "INSERT INTO orders VALUES ('…')",
      'commit',
      'responded',
    ]);
    expect(shown.every(({ kind, took }) => kind !== 'scope' || took !== undefined)).toBe(true);
    expect(steps.find(({ kind }) => kind === 'statement')?.where).toEqual(LINE);
    expect(await app.read('now')).toMatchObject({ pool: { waiting: 0 }, transactions: { committed: 2 } });
  });

  it('subscribes to no channel and gives no link until somebody looks, and opens no scope for itself', async () => {
    await start();
    await fetch(`${app.url}/inspector/`);
    expect((await fetch(`${app.url}/users/1`)).headers.has('x-debug-token-link')).toBe(false);
    expect(channel(OPENED).hasSubscribers).toBe(false);
    const { boot, requests } = await app.read<State>('state');
    expect([channel(OPENED).hasSubscribers, requests]).toEqual([true, []]);
    const link = (await fetch(`${app.url}/users/1`)).headers.get('x-debug-token-link');
    expect(link).toBe(`/inspector/#/requests/${boot}-1`);
    const opened = vi.fn<() => void>();
    subscribe(OPENED, opened);
    for (const path of ['', 'graph', 'now']) await fetch(`${app.url}/inspector/${path}`);
    unsubscribe(OPENED, opened);
    expect(opened).not.toHaveBeenCalled();
  });

  it('begins with the application with the option `always`, stops with it, and says what has changed', async () => {
    await start({ always: true });
    await fetch(`${app.url}/users/1`);
    const { boot, version, requests } = await app.read<State>('state');
    expect(requests).toMatchObject([{ route: '/users/:id', status: 200 }]);
    await fetch(`${app.url}/users/1`);
    const ids = async (of: string): Promise<number[]> =>
      (await app.read<State>(`state?boot=${of}&since=${version}`)).requests.map(({ id }) => id);
    expect([await ids(boot), await ids('another')]).toEqual([[2], [1, 2]]);
    await app.close();
    expect(channel('ambit:statement:sent').hasSubscribers).toBe(false);
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
});
