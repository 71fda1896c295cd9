import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Container } from '@ambit/container';
import { createApp, placeOrder, SCOPES } from './support/app.js';
import { hosts, type Routes, type RunningApp } from './support/hosts.js';
import { Page } from './support/page.js';
import type { GraphView } from '../src/wire.js';

const OPENED = 'ambit:scope:opened';

describe.each(hosts)('the inspector on $name', (host) => {
  let container: Container;
  let app: RunningApp;
  let page: Page | undefined;
  const routes: Routes = {
    '/users': (scope) => (scope.resolve('IUsers') ? 200 : 500),
    '/orders': async (scope) => {
      await placeOrder(scope, 'committed');
      return 201;
    },
    '/never': () => undefined,
    '/failing': () => {
      throw new Error('no');
    },
    '/forgetful': () => {
      container.createScope({ tags: ['job'] });
      return 200;
    },
  };
  const start = async (options: object = {}): Promise<void> => {
    app = await host.start({ container, scopes: SCOPES, ...options }, routes);
  };
  const open = async (): Promise<Page> => (page = await Page.open(app.url));

  beforeEach(() => {
    container = createApp();
  });
  afterEach(async () => {
    page?.leave();
    await app.close();
  });

  it('serves its page, with a Content-Security-Policy that allows nothing from elsewhere', async () => {
    await start();
    const response = await fetch(`${app.url}/inspector`);
    expect(response.url).toBe(`${app.url}/inspector/`);
    expect(response.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(await response.text()).not.toMatch(/https?:|<script>|style=|onclick/);
    const script = await fetch(`${app.url}/inspector/assets/page.js`);
    expect([script.status, script.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
  });

  it('serves no file but those of the page', async () => {
    await start();
    const names = ['..%2fpackage.json', '%2e%2e/package.json', 'none.js', 'main.ts', ''];
    const responses = await Promise.all(names.map((name) => fetch(`${app.url}/inspector/assets/${name}`)));
    expect(responses.map(({ status }) => status)).toEqual(names.map(() => 404));
  });

  it('leaves all other requests alone', async () => {
    await start();
    const statuses = await Promise.all(
      ['/users/1', '/inspectors', '/nothing'].map(async (path) => (await fetch(app.url + path)).status),
    );
    expect(statuses).toEqual([200, 404, 404]);
  });

  it('shows the dependency graph, grouped by the scope that owns each service', async () => {
    await start();
    const response = await fetch(`${app.url}/inspector/graph`);
    const { nodes, edges, problems } = (await response.json()) as GraphView;
    expect(nodes.map(({ box, key }) => `${box}: ${key}`)).toEqual([
      'application: ISecret',
      'application: IDatabasePool',
      'application > request: IRequestSignal',
      'application > request: IUsers',
      'application > request > transaction: IConnection',
      'application > request > transaction: IOrders',
    ]);
    const keyOf = (id: string) => nodes.find((node) => node.id === id)?.key;
    expect(edges.map(({ from, to }) => [keyOf(from), keyOf(to)])).toContainEqual(['IUsers', 'IDatabasePool']);
    expect(problems).toEqual([]);
  });

  it('explains a service from a scope like the one that owns it, and shows no value', async () => {
    await start();
    const { nodes } = (await (await fetch(`${app.url}/inspector/graph`)).json()) as GraphView;
    const { id } = nodes.find(({ key }) => key === 'IUsers')!;
    const explanation = await (await fetch(`${app.url}/inspector/explain?node=${id}`)).text();
    expect(explanation).toContain('singleton factory of [application] > [request]: wins');
    expect((await fetch(`${app.url}/inspector/explain?node=n99`)).status).toBe(404);
  });

  it('records a request, step by step, from its arrival until its scope is closed', async () => {
    await start();
    const watching = await open();
    await fetch(`${app.url}/orders/7?secret=1`);
    const { id, ...seen } = await watching.request(({ open: scopes, state }) => state === 'responded' && scopes === 0);
    expect(seen).toMatchObject({ method: 'GET', route: '/orders/:id', status: 201, outcome: 'committed', leaks: 0 });
    const { steps, spans } = await watching.details(id);
    expect(spans.map(({ box }) => box)).toEqual(['application > request', 'application > request > transaction']);
    expect(steps.map(({ kind, key, sql }) => [kind, key ?? sql].filter(Boolean).join(' '))).toEqual([
      'arrived',
      'scope opened',
      'scope opened',
      'connection',
      'begin',
      'created IOrders',
      "statement INSERT INTO orders VALUES ($1, '…')",
      'commit',
      'scope closed',
      'responded',
      'scope closed',
    ]);
  });

  it('records the route of a request that failed', async () => {
    await start();
    const watching = await open();
    await fetch(`${app.url}/failing/1`);
    expect(await watching.request(({ status }) => status === 500)).toMatchObject({ route: '/failing/:id' });
  });

  it('records that a client disconnected', async () => {
    await start();
    const watching = await open();
    const client = new AbortController();
    const left = fetch(`${app.url}/never/1`, { signal: client.signal }).catch(() => undefined);
    await watching.request(({ state }) => state === 'open');
    client.abort();
    await left;
    expect(await watching.request(({ state }) => state === 'aborted')).not.toHaveProperty('status');
  });

  it('reports a scope that is open after its request is complete, and where it was opened', async () => {
    await start({ limitMs: 20 });
    const watching = await open();
    await fetch(`${app.url}/forgetful/1`);
    const { id } = await watching.request(({ leaks }) => leaks === 1);
    const { spans } = await watching.details(id);
    expect(spans.find(({ box }) => box === 'application > job')?.where?.[0]).toContain('hosts.test.ts');
    await watching.until(() => watching.latest.now.scopes.some(({ old, box }) => old && box === 'application > job'));
  });

  it('opens no request scope for its own requests', async () => {
    await start();
    const opened = vi.fn<() => void>();
    subscribe(OPENED, opened);
    const watching = await open();
    await fetch(`${app.url}/inspector/`);
    await fetch(`${app.url}/inspector/graph`);
    expect(opened).not.toHaveBeenCalled();
    expect(watching.requests.size).toBe(0);
    unsubscribe(OPENED, opened);
  });

  it('subscribes to no channel until a page is open', async () => {
    await start();
    await fetch(`${app.url}/inspector/`);
    await fetch(`${app.url}/inspector/graph`);
    // The inspector of the test before notices within a moment that its server is closed.
    await vi.waitFor(() => expect(channel(OPENED).hasSubscribers).toBe(false));
    await open();
    expect(channel(OPENED).hasSubscribers).toBe(true);
  });

  it('does not keep a server from closing', async () => {
    await start();
    const watching = await open();
    const since = performance.now();
    await app.close();
    expect(performance.now() - since).toBeLessThan(2000);
    await watching.until(() => true);
  });

  it('is not mounted when it is not enabled, as in production', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    await start();
    vi.unstubAllEnvs();
    expect((await fetch(`${app.url}/inspector/`)).status).toBe(404);
  });

  it('can be enabled in production, with a token', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    const token = 'a token that is long enough';
    await start({ enabled: true, path: '/behind/the-scenes', token });
    vi.unstubAllEnvs();
    const status = async (headers: Record<string, string> = {}): Promise<number> =>
      (await fetch(`${app.url}/behind/the-scenes/`, { headers })).status;
    expect([await status(), await status({ authorization: `Bearer ${token}` })]).toEqual([401, 200]);
  });

  // As nginx sends it with `proxy_pass http://127.0.0.1:3000;` alone, and HAProxy without `option forwardfor`.
  it.each([undefined, '', 'staging'])('shows nothing without a token where NODE_ENV is %j', async (mode) => {
    vi.stubEnv('NODE_ENV', mode);
    await start();
    vi.unstubAllEnvs();
    for (const path of ['/', '/graph', '/events', '/state', '/requests/1', '/assets/main.js']) {
      const response = await fetch(`${app.url}/inspector${path}`);
      expect([path, response.status]).toEqual([path, 403]);
      expect(await response.text()).toContain('set the option `token`');
    }
    const tools = await fetch(`${app.url}/inspector/mcp`, { method: 'POST', body: '{}' });
    expect(tools.status).toBe(403);
  });
});
