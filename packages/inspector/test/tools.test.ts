import { type IConnection, runInTransaction } from '@ambit/transaction';
import { afterEach, describe, expect, it } from 'vitest';
import { command } from '../src/command.js';
import type { InspectorOptions } from '../src/index.js';
import { createApp, hosts, type Routes, type RunningApp, SCOPES, storeOrder, TOKEN } from './support/app.js';

const JSON_TYPE = { 'content-type': 'application/json' };

const routes: Routes = {
  '/users': (scope) => void scope.resolve('IUsers'),
  '/sold-out': (scope) =>
    runInTransaction(scope, async (inner) => {
      await storeOrder(inner.resolve<IConnection>('IConnection' as string));
    }).catch(() => 500),
};

interface Reply {
  readonly result?: { readonly tools?: object[]; readonly content?: [{ text: string }]; readonly isError?: boolean };
  readonly error?: { readonly code: number };
}

/** One handler serves all hosts. */
describe('the tools of the inspector', () => {
  let app: RunningApp;

  const open = async (options: Partial<InspectorOptions> = {}): Promise<void> => {
    app = await hosts[0]!.start({ container: createApp(), scopes: SCOPES, ...options }, routes);
  };
  const post = (body: unknown, headers: Record<string, string> = JSON_TYPE): Promise<Response> => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return fetch(`${app.url}/inspector/mcp`, { method: 'POST', body: text, headers });
  };
  const send = async (method: string, params?: object): Promise<Reply> =>
    (await (await post({ jsonrpc: '2.0', id: 7, method, params })).json()) as Reply;
  const call = async (name: string, args: object = {}): Promise<unknown> => {
    const { result } = await send('tools/call', { name, arguments: args });
    const { text } = result!.content![0];
    return result!.isError ? text : (JSON.parse(text) as unknown);
  };
  const ask = (path: string): Promise<Response> => fetch(`${app.url}${path}/1`);

  afterEach(() => app.close());

  it('are those of an MCP server: initialize, tools/list, ping, and notifications without a response', async () => {
    await open();
    expect(await send('initialize', { protocolVersion: '2025-03-26' })).toMatchObject({
      id: 7,
      result: { protocolVersion: '2025-06-18', serverInfo: { name: '@ambit/inspector' }, capabilities: { tools: {} } },
    });
    expect(await send('ping')).toMatchObject({ result: {} });
    expect((await send('tools/list')).result?.tools).toContainEqual(
      expect.objectContaining({ name: 'request', inputSchema: expect.objectContaining({ required: ['id'] }) }),
    );
    expect(await send('resources/list')).toMatchObject({ error: { code: -32_601 } });
    const notified = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect([notified.status, await notified.text()]).toEqual([202, '']);
  });

  it('record from the first call, and say so', async () => {
    await open();
    await ask('/users');
    expect(await call('troubles')).toEqual({ note: expect.stringContaining('Recording has begun with this call') });
    await ask('/sold-out');
    await expect
      .poll(() => call('troubles'))
      .toMatchObject([{ kind: 'failed statement', count: 1, routes: ['GET /sold-out/:id'], requests: [1] }]);
    expect(await call('requests', { trouble: true })).toMatchObject([{ id: 1, status: 500, outcome: 'rolled back' }]);
    expect(await call('request', { id: 1 })).toMatchObject({ route: '/sold-out/:id', steps: expect.any(Array) });
    expect(await call('statements')).toMatchObject([{ failed: 1 }]);
    expect(await call('now')).toMatchObject({ transactions: { 'rolled back': 1 } });
    const [{ name }] = (await call('statements')) as [{ name: string }];
    expect(await call('plan', { sql: name })).toEqual([expect.stringMatching(/^No plan: .* 55000$/)]);
    expect(await call('plan', { sql: 'DROP TABLE orders' })).toContain('no longer kept');
    const { result } = await send('tools/call', { name: 'request', arguments: { id: 1 } });
    expect(result?.content?.[0].text).not.toMatch(/\d\.\d{3}/);
  });

  it('draw and explain the graph', async () => {
    await open();
    expect(await call('graph', { key: 'IOrders' })).toMatchObject({
      nodes: expect.arrayContaining([expect.objectContaining({ key: 'IConnection' })]),
      edges: [expect.objectContaining({ kind: 'one' })],
    });
    expect(await call('explain', { key: 'IUsers' })).toMatchObject({
      explanation: expect.stringContaining('IUsers'),
      dependencies: expect.arrayContaining(['IDatabasePool of application']),
      where: expect.stringMatching(/support\/app\.ts:\d+:\d+$/),
    });
    const explanation = "'IUser' is registered in no scope. Did you mean 'IUsers'?";
    expect(await call('explain', { key: 'IUser' })).toMatchObject({ explanation });
  });

  it('say what is wrong with a call', async () => {
    await open();
    const calls: readonly (readonly [string, object, string])[] = [
      ['nothing', {}, "There is no tool 'nothing'. The tools: troubles, "],
      ['request', {}, "needs the argument 'id'"],
      ['request', { id: 'one' }, 'must be of the type integer, not string'],
      ['troubles', { since: 1 }, "has no argument 'since'"],
      ['request', { id: 4711 }, 'no longer kept'],
      ['toString', {}, 'There is no tool'],
    ];
    for (const [name, args, said] of calls) expect(await call(name, args)).toContain(said);
  });

  it('refuse what is no message, other versions of the protocol, and pages of other sites', async () => {
    await open();
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const wrong = [{ id: null }, { id: {} }, { params: 'all' }, { jsonrpc: '1.0' }, { method: undefined }];
    const messages = ['{', '4711', [], [ping], null, ...wrong.map((part) => ({ ...ping, ...part }))];
    for (const message of messages) {
      const response = await post(message);
      expect([message, response.status]).toEqual([message, 400]);
      expect(await response.json()).toMatchObject({ id: null, error: { code: message === '{' ? -32_700 : -32_600 } });
    }
    expect((await post(`"${'x'.repeat(70_000)}"`)).status).toBe(413);
    for (const [name, value, status] of [
      ['content-type', 'text/plain', 415],
      ['origin', 'https://evil.example', 403],
      ['origin', app.url, 200],
      ['x-forwarded-for', '127.0.0.1', 403],
      ['mcp-protocol-version', '2025-06-18', 200],
      ['mcp-protocol-version', '2099-01-01', 400],
    ] as const)
      expect([name, (await post(ping, { ...JSON_TYPE, [name]: value })).status]).toEqual([name, status]);
    const stream = await fetch(`${app.url}/inspector/mcp`);
    expect([stream.status, stream.headers.get('allow')]).toEqual([405, 'POST']);
  });

  describe('the command', () => {
    const run = async (args: readonly string[], token?: string): Promise<[code: number, said: string]> => {
      const said: string[] = [];
      const say = (text: string): void => void said.push(text);
      const url = `${app.url}/inspector/`;
      return [await command([...args, '--url', url], { token, print: say, complain: say }), said.join()];
    };

    it('prints the troubles as text, a list line by line, and each tool as JSON', async () => {
      await open({ always: true });
      expect(await run([])).toEqual([0, 'No trouble since the recording began.']);
      await ask('/sold-out');
      await expect.poll(() => run([])).toEqual([0, expect.stringContaining('failed')]);
      const [, troubles] = await run([]);
      expect(troubles).toMatch(
        /^1 trouble, the most harmful first; 1 times a request failed:\n\nfailed statement × 1, 1 failed: The database refused the statement: TransactionError AMBIT_TX_STATEMENT_FAILED 55000\n {2}at[^\n]*app\.ts:\d+:\d+, called by \S*tools\.test\.ts\S+\n {2}sql {2}INSERT[^\n]*\n {2}on {3}GET \/sold-out\/:id \(newest requests: 1\)\n {2}fix {2}\S/,
      );
      for (const [args, printed] of [
        [['--json'], /^\[\{.*"kind":"failed statement".*\]$/],
        [['request', '--id', '1', '--json'], /^\{"id":1,.*\}$/],
        [['statements'], /^\{"name":"INSERT .*\}$/],
        [['tools'], /"description"/],
        [['--help'], /^Usage: ambit inspect/],
      ] as const)
        expect(await run(args)).toEqual([0, expect.stringMatching(printed)]);
    });

    it('says what is wrong', async () => {
      await open({ token: TOKEN });
      for (const [code, said, args, token] of [
        [1, 'set INSPECTOR_TOKEN', []],
        [1, 'another token than that of INSPECTOR_TOKEN', [], 'a wrong token, long enough'],
        [1, 'must be of the type integer', ['request', '--id', 'four'], TOKEN],
        [2, 'Usage: ambit inspect', ['--colour', 'red']],
      ] as const)
        expect(await run(args, token)).toEqual([code, expect.stringContaining(said)]);
      await app.close();
      expect(await run([])).toEqual([1, expect.stringContaining('Is the application running')]);
    });
  });
});
