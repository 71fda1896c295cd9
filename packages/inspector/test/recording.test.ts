import { channel } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Container } from '@ambit/container';
import { recordLine } from '../src/index.js';
import type { StartUp } from '../src/wire.js';
import { createApp, SCOPES } from './support/app.js';
import { hosts, type RunningApp } from './support/hosts.js';
import { Page } from './support/page.js';

describe.each(hosts)('a recording on $name', (host) => {
  let container: Container;
  let app: RunningApp;
  let page: Page | undefined;

  const start = async (options: object = {}): Promise<void> => {
    app = await host.start(
      { container, scopes: SCOPES, ...options },
      {
        '/users': (scope) => (scope.resolve('IUsers') ? 200 : 500),
        '/logged': () => {
          recordLine({ source: 'audit', level: 'info', text: 'user 4711 was read' });
          return 200;
        },
      },
    );
  };
  const open = async (): Promise<Page> => (page = await Page.open(app.url));

  beforeEach(() => {
    container = createApp();
  });
  afterEach(async () => {
    page?.leave();
    page = undefined;
    await app.close();
  });

  it('gives each response a link to its request', async () => {
    await start();
    const { hello } = await open();
    const { headers } = await fetch(`${app.url}/users/1`);
    expect(headers.get('x-debug-token-link')).toBe(`/inspector/#/requests/${hello.boot}-1`);
  });

  it('gives no link while no page is open', async () => {
    await start();
    const { headers } = await fetch(`${app.url}/users/1`);
    expect(headers.has('x-debug-token-link')).toBe(false);
  });

  it('lists as many requests per second as the page asks for, but not another site', async () => {
    await start({ samplesPerSecond: 1 });
    const watching = await open();
    const ask = async (perSecond: string, headers: Record<string, string> = {}): Promise<number> => {
      const response = await fetch(`${app.url}/inspector/samples`, { method: 'POST', body: perSecond, headers });
      return response.status;
    };
    expect(await Promise.all(['0', '-1', '1001', 'many', ''].map((perSecond) => ask(perSecond)))).toEqual([
      400, 400, 400, 400, 400,
    ]);
    expect(await ask('900', { 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(watching.latest.now.samplesPerSecond).toBe(1);
    expect(await ask('900')).toBe(204);
    await watching.until(() => watching.latest.now.samplesPerSecond === 900);
  });

  it('has the id that the application gives a request, if the option names its header', async () => {
    await start({ requestIdHeader: 'Content-Type' });
    const watching = await open();
    await fetch(`${app.url}/users/1`);
    const { requestId } = await watching.request(({ state, open: scopes }) => state === 'responded' && scopes === 0);
    expect(requestId).toBe('text/plain; charset=utf-8');
  });

  it('has no lines of logs, which may contain values', async () => {
    await start();
    const watching = await open();
    await fetch(`${app.url}/logged/1`);
    const { id } = await watching.request(({ state, open: scopes }) => state === 'responded' && scopes === 0);
    expect(JSON.stringify(await watching.details(id))).not.toContain('4711');
  });

  it('has them with the option `lines`', async () => {
    await start({ lines: true });
    const watching = await open();
    await fetch(`${app.url}/logged/1`);
    const { id } = await watching.request(({ state, open: scopes }) => state === 'responded' && scopes === 0);
    const { steps } = await watching.details(id);
    expect(steps.find(({ kind }) => kind === 'line')?.line).toEqual({
      source: 'audit',
      level: 'info',
      text: 'user 4711 was read',
    });
  });

  it('begins with the page', async () => {
    await start();
    await fetch(`${app.url}/users/1`);
    const { hello } = await open();
    expect([hello.always, hello.requests, hello.services]).toEqual([false, [], []]);
  });

  it('begins with the application with the option `always`, and goes on without a page', async () => {
    await start({ always: true });
    await fetch(`${app.url}/users/1`);
    const { hello } = await open();
    expect(hello.always).toBe(true);
    expect(hello.requests).toMatchObject([{ route: '/users/:id', status: 200 }]);
    expect(hello.services.map(({ key }) => key)).toEqual(['IDatabasePool', 'IUsers']);
  });

  it('stops with the application, whether it began with it or not', async () => {
    await start({ always: true });
    expect(channel('ambit:statement:sent').hasSubscribers).toBe(true);
    await app.close();
    await expect.poll(() => channel('ambit:statement:sent').hasSubscribers).toBe(false);
  });

  it('has what was created before the first request, and when', async () => {
    await start();
    container.resolve('IDatabasePool');
    await fetch(`${app.url}/users/1`);
    const startUp = (await (await fetch(`${app.url}/inspector/startup`)).json()) as StartUp;
    expect(startUp.services).toMatchObject([
      { box: 'application', key: 'IDatabasePool', took: expect.any(Number) as number },
    ]);
    const { at } = startUp.services[0]!;
    expect([startUp.inspected, at, startUp.firstRequest]).toEqual(
      [startUp.inspected, at, startUp.firstRequest!].toSorted((one, other) => one - other),
    );
    expect(channel('ambit:instance:created').hasSubscribers).toBe(false);
  });
});
