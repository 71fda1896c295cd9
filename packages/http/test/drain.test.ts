import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Container } from '@ambit/container';
import { FakePool } from '@ambit/transaction/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createHandler, drain, type Handler } from '../src/index.js';
import { ServerConnections } from '../src/node.js';

const running: (() => unknown)[] = [];

afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
});

async function serve(handlers: Readonly<Record<string, Handler>>) {
  const container = new Container({ tags: ['application'] });
  const pool = new FakePool();
  container.register('IDatabasePool', () => pool);
  const handler: Handler = (req, res, scope) => handlers[req.url ?? '']?.(req, res, scope);
  const server = createServer(createHandler(container, handler)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  running.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const { port } = server.address() as AddressInfo;
  return {
    server,
    fetch: (path: string) => fetch(`http://127.0.0.1:${port}${path}`),
    socket: async (): Promise<Socket> => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
  };
}

/** A server with a request that is responded to when the test says so. */
async function inProgress() {
  const handling = signal();
  const response = signal();
  const served = await serve({
    '/': async (_req, res) => {
      handling.resolve();
      await response.promise;
      res.end('done');
    },
  });
  const request = served.fetch('/');
  await handling.promise;
  return { ...served, request, response };
}

/** A promise and the function that resolves it. */
function signal() {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

describe('drain()', () => {
  it('lets a request finish that comes in behind one that was to be the last', async () => {
    const handling = signal();
    const response = signal();
    const { server, socket } = await serve({
      '/a': async (_req, res) => {
        handling.resolve();
        await response.promise;
        res.end('response a');
      },
      '/b': (_req, res) => {
        res.end('response b');
        response.resolve();
      },
    });
    const client = await socket();
    client.write(get('a'));
    await handling.promise;
    const drained = drain(server);
    client.write(get('b'));
    expect(closes(await text(client))).toEqual(['response a', 'response b, close']);
    await drained;
  });

  it('keeps idle connections for a request that is on its way, if it is asked to, and then closes them', async () => {
    const { server, socket } = await serve({ '/a': (_req, res) => void res.end('response a') });
    const [late, idle] = [await socket(), await socket()];
    for (const client of [late, idle]) {
      client.write(get('a'));
      await once(client, 'data');
    }
    const drained = drain(server, { keepIdleMs: 3000 });
    // Longer than a server takes that closes them at once.
    await Promise.race([once(late, 'close'), once(server, 'close'), pause(50)]);
    late.write(get('a'));
    expect(closes(await text(late))).toEqual(['response a, close']);
    expect(idle.destroyed).toBe(false);
    await Promise.all([once(idle, 'close'), drained]);
  });

  it('cuts what has not finished in time', async () => {
    const { server, request } = await inProgress();
    const errors: unknown[] = [];
    const drained = drain(server, { timeoutMs: 10, onError: (error) => void errors.push(error) });
    await Promise.all([drained, expect(request).rejects.toThrow()]);
    const message: unknown = expect.stringContaining('1 connection after 10 ms');
    expect(errors).toMatchObject([{ code: 'AMBIT_DRAIN_TIMEOUT', message }]);
  });

  it.each([Infinity, 2 ** 31])(
    'cuts nothing when the time is %s ms, for which Node has no timer',
    async (timeoutMs) => {
      const { server, socket, request, response } = await inProgress();
      const silent = await socket();
      const drained = drain(server, { timeoutMs });
      // A timer of Node's that is too long fires after 1 ms, which is long before this.
      await once(silent, 'close');
      response.resolve();
      expect(await (await request).text()).toBe('done');
      await drained;
    },
  );

  it.each<[event: 'upgrade' | 'connect', request: string]>([
    ['upgrade', 'GET /chat HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'],
    ['connect', 'CONNECT test:80 HTTP/1.1\r\nhost: test\r\n\r\n'],
  ])('cuts a connection that has left HTTP by `%s`', async (event, request) => {
    const { server, socket } = await serve({});
    server.on(event, (_req: IncomingMessage, tunnel: Duplex) => void tunnel.write('hello'));
    const client = await socket();
    client.write(request);
    await once(client, 'data');
    const onError = vi.fn<(error: unknown) => void>();
    await Promise.all([drain(server, { timeoutMs: 10, onError }), once(client, 'close')]);
    expect(onError).toHaveBeenCalledOnce();
    expect(server.listening).toBe(false);
  });

  it('of a server that does not listen has nothing to do', async () => {
    const server = createServer();
    await drain(server);
    expect(server.listening).toBe(false);
  });
});

const get = (name: string): string => `GET /${name} HTTP/1.1\r\nhost: test\r\n\r\n`;

/** The body of each response, and whether it says `Connection: close`. */
function closes(responses: string): string[] {
  const parts = responses.split(/(?=HTTP\/1\.1 200)/);
  return parts.map(
    (response) => (/response \w/.exec(response)?.[0] ?? '') + (/^connection: close/im.test(response) ? ', close' : ''),
  );
}

/** Confirms what was written when the test says so. */
class SlowLine extends Duplex {
  sent = '';
  /** Confirms the write in progress. */
  confirm: () => void = () => undefined;

  override _read(): void {
    // The test pushes what comes.
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.sent += String(chunk);
    this.confirm = done;
  }
}

it('sends a pipelined response behind one that is all written and not yet confirmed', async () => {
  let responses = 0;
  const other = signal();
  const { server, fetch: request } = await serve({
    '/': (_req, res) => void res.end(`response ${(responses += 1)}`),
    '/other': async (_req, res) => void (await other.promise, res.end()),
  });
  const line = new SlowLine();
  server.emit('connection', line);
  line.push('GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(2));
  await vi.waitFor(() => expect(responses).toBe(2), 120_000);
  // Node writes an empty chunk at the end of a response.
  line.confirm();
  // Node counts no connections but its own: without this one the server would be closed at once.
  const requested = request('/other');
  await once(server, 'request');
  const drained = drain(server);
  // Meanwhile it looks for idle connections.
  await pause(300);
  for (let writes = 0; writes < 3; writes += 1, await pause(1)) line.confirm();
  other.resolve();
  await Promise.all([drained, requested]);
  expect(line.sent.match(/response \d/g)).toEqual(['response 1', 'response 2']);
});

describe('SIGTERM', () => {
  it.each([
    ['disposes the application container, and exits with 0', 'succeeds', 0, 'application disposed\n'],
    [
      'exits with 0 when connections were closed by force, and says how many',
      'is busy',
      0,
      'reported: AMBIT_DRAIN_TIMEOUT, 1 connection\napplication disposed\n',
    ],
    ['exits with 1 when the container failed to dispose', 'fails', 1, 'reported: AMBIT_DISPOSE_FAILED\n'],
    [
      'exits with 1 when the container is not disposed in time, and says what is still open',
      'hangs',
      1,
      'reported: AMBIT_HTTP_DISPOSE_TIMEOUT, a server is still open\n',
    ],
  ])('%s', async (_name, how, code, output) => {
    const program = fileURLToPath(new URL('support/signalled.mjs', import.meta.url));
    const child = spawn(process.execPath, [program, how], { stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => {
      if (String(chunk).startsWith('listening')) child.kill('SIGTERM');
      else printed += String(chunk);
    });
    expect(await once(child, 'exit')).toEqual([code, null]);
    expect(printed).toBe(output);
  });
});

it('a request that expects 100 Continue is served where several copies of this package watch the server', async () => {
  const { server, socket } = await serve({ '/': async (req, res) => void res.end(await text(req)) });
  vi.resetModules();
  const copy = await import('../src/node.js');
  expect(copy.ServerConnections).not.toBe(ServerConnections);
  ServerConnections.of(server);
  copy.ServerConnections.of(server);
  const client = await socket();
  client.write(
    'POST / HTTP/1.1\r\nhost: test\r\nexpect: 100-continue\r\ncontent-length: 4\r\nconnection: close\r\n\r\n',
  );
  const [first] = (await once(client, 'data')) as [Buffer];
  expect(String(first)).toMatch(/^HTTP\/1\.1 100 Continue/);
  client.write('body');
  expect(await text(client)).toMatch(/^HTTP\/1\.1 200 OK[^]*body$/);
});
