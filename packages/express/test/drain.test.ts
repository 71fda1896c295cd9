import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import express, { type RequestHandler } from 'express';
import { expect, describe, it } from 'vitest';
import { containerMiddleware, drain, withTransaction } from '../src/index.js';
import { application, serve, signal } from './support/app.js';

/** A server with a request that is answered when the test says so. */
async function underWay() {
  const { app } = application();
  const handling = signal();
  const answer = signal();
  app.get('/', async (_req, res) => {
    handling.resolve();
    await answer.promise;
    res.end('done');
  });
  const served = await serve(app);
  const request = served.fetch('/');
  await handling.promise;
  return { ...served, request, answer };
}

describe('drain()', () => {
  it('closes a connection that a keep-alive client holds idle', async () => {
    const { app } = application();
    app.get('/', (_req, res) => void res.end('done'));
    const { server, socket } = await serve(app);
    const client = await socket();
    client.write('GET / HTTP/1.1\r\nhost: test\r\n\r\n');
    await once(client, 'data');
    await Promise.all([drain(server), once(client, 'close')]);
    expect(server.listening).toBe(false);
  });

  it('closes a connection on which nothing was ever asked', async () => {
    const { server, socket } = await serve(application().app);
    const client = await socket();
    await Promise.all([drain(server), once(client, 'close')]);
    expect(server.listening).toBe(false);
  });

  it('lets the request under way finish, and tells its client to leave', async () => {
    const { server, request, answer } = await underWay();
    const drained = drain(server);
    answer.resolve();
    const response = await request;
    expect([await response.text(), response.headers.get('connection')]).toEqual(['done', 'close']);
    await drained;
  });

  it('lets a request finish that comes in behind one that was to be the last', async () => {
    const { app } = application();
    const handling = signal();
    const answer = signal();
    app.get('/a', async (_req, res) => {
      handling.resolve();
      await answer.promise;
      res.end('answer a');
    });
    app.get('/b', (_req, res) => {
      res.end('answer b');
      answer.resolve();
    });
    const { server, socket } = await serve(app);
    const client = await socket();
    client.write(get('a'));
    await handling.promise;
    const drained = drain(server);
    client.write(get('b'));
    expect(goodbyes(await text(client))).toEqual(['answer a', 'answer b, close']);
    await drained;
  });

  it('tells a client to leave whose request a middleware before ours has kept', async () => {
    const { container } = application();
    const arrived = signal();
    const goOn = signal();
    const slow: RequestHandler = async (_req, _res, next) => {
      arrived.resolve();
      await goOn.promise;
      next();
    };
    const app = express().get('/', slow, containerMiddleware(container), (_req, res) => void res.end('done'));
    const { server, fetch } = await serve(app);
    const request = fetch('/');
    await arrived.promise;
    const drained = drain(server);
    goOn.resolve();
    expect((await request).headers.get('connection')).toBe('close');
    await drained;
  });

  it('turns no pipelined request away that a middleware before ours has let through out of turn', async () => {
    const { container } = application();
    const arrived = signal();
    const goOn = signal();
    const slow: RequestHandler = async (req, _res, next) => {
      if (req.path === '/a') await goOn.promise;
      else arrived.resolve();
      next();
    };
    const app = express().use(slow, containerMiddleware(container));
    app.get('/a', (_req, res) => void res.end('answer a'));
    app.get('/b', async (_req, res) => {
      await goOn.promise;
      res.end('answer b');
    });
    const { server, socket } = await serve(app);
    const client = await socket();
    client.write(['a', 'b'].map(get).join(''));
    await arrived.promise;
    const drained = drain(server);
    goOn.resolve();
    expect(goodbyes(await text(client)).map((answer) => answer.slice(0, 8))).toEqual(['answer a', 'answer b']);
    await drained;
  });

  it('tells a client to leave whose stream still waits for COMMIT', async () => {
    const { app } = application();
    let drained: Promise<void> | undefined;
    app.post('/', withTransaction(), (_req, res) => {
      res.write('all ');
      drained = drain(server);
      res.end('done');
    });
    const { server, post } = await serve(app);
    const response = await post('/');
    expect([await response.text(), response.headers.get('connection')]).toEqual(['all done', 'close']);
    await drained;
  });

  it('cuts what has not finished in time', async () => {
    const { app } = application();
    const handling = signal();
    app.get('/', () => handling.resolve());
    const { server, fetch } = await serve(app);
    const request = fetch('/');
    await handling.promise;
    await Promise.all([drain(server, { timeoutMs: 10 }), expect(request).rejects.toThrow()]);
  });

  it.each([Infinity, 2 ** 31])(
    'cuts nothing when the time is %s ms, for which Node has no timer',
    async (timeoutMs) => {
      const { server, socket, request, answer } = await underWay();
      const silent = await socket();
      const drained = drain(server, { timeoutMs });
      // A timer of Node's that is too long fires after 1 ms, which is long before this.
      await once(silent, 'close');
      answer.resolve();
      expect(await (await request).text()).toBe('done');
      await drained;
    },
  );

  it.each<[event: 'upgrade' | 'connect', request: string]>([
    ['upgrade', 'GET /chat HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'],
    ['connect', 'CONNECT test:80 HTTP/1.1\r\nhost: test\r\n\r\n'],
  ])('cuts a connection that has left HTTP by `%s`', async (event, request) => {
    const { server, socket } = await serve(application().app);
    server.on(event, (_req: IncomingMessage, tunnel: Duplex) => void tunnel.write('hello'));
    const client = await socket();
    client.write(request);
    await once(client, 'data');
    await Promise.all([drain(server, { timeoutMs: 10 }), once(client, 'close')]);
    expect(server.listening).toBe(false);
  });

  it('of a server that does not listen has nothing to do', async () => {
    const { app } = application();
    const { server, close } = await serve(app);
    await close();
    await drain(server);
    expect(server.listening).toBe(false);
  });
});

const get = (name: string): string => `GET /${name} HTTP/1.1\r\nhost: test\r\n\r\n`;

/** The body of each answer, and whether it was said to be the last. */
function goodbyes(answers: string): string[] {
  const parts = answers.split(/(?=HTTP\/1\.1 200)/);
  return parts.map(
    (answer) => (/answer \w/.exec(answer)?.[0] ?? '') + (/^connection: close/im.test(answer) ? ', close' : ''),
  );
}

describe('SIGTERM', () => {
  it.each([
    ['ends the application container, and the process with 0', 'ends', 0, 'application ended\n'],
    ['ends the process with 1 when the container did not end well', 'fails', 1, 'reported: AMBIT_DISPOSE_FAILED\n'],
    [
      'ends the process with 1 when the container is not disposed in time, and says what is still open',
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
