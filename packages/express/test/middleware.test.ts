import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import { describe, expect, it } from 'vitest';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { signal } from '@ambit/test-kit';
import express, { type Express } from 'express';
import { containerMiddleware, disposeOnSignal, drain, withTransaction } from '../src/index.js';
import { application, expectAllEnded, serve, store } from './support/app.js';

const INVALID = { code: 'AMBIT_OPTION' };
const TIMES: readonly unknown[] = [Number.NaN, -1, null, '500'];

describe('an invalid option is refused where it is given:', () => {
  it.each(TIMES)('drain() with timeoutMs %s, and the server goes on', async (timeoutMs) => {
    const server = createServer();
    await expect(drain(server, { timeoutMs: timeoutMs as number })).rejects.toMatchObject(INVALID);
    expect(server.listenerCount('request')).toBe(0);
  });

  it.each(TIMES)('disposeOnSignal() with a time of %s', (time) => {
    const ms = time as number;
    const before = process.listenerCount('SIGTERM');
    for (const options of [{ timeoutMs: ms }, { disposeTimeoutMs: ms }, { onError: ms as never }]) {
      expect(() => disposeOnSignal(createServer(), application().container, options)).toThrow(
        expect.objectContaining(INVALID),
      );
    }
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });

  const functions = [{ rollbackOn: 1 }, { onSecondResponse: 1 }, { onError: 1 }];
  it.each([...functions, { isolation: 'snapshot' }, { readOnly: 1 }, { pool: 'IOtherPool' }])(
    'withTransaction() with %o',
    (options) => {
      expect(() => withTransaction(options as never)).toThrow(expect.objectContaining(INVALID));
    },
  );

  it.each<unknown>([undefined, null, {}, 'container'])('%s in place of the application container', (given) => {
    const container = given as IContainer;
    expect(() => containerMiddleware(container)).toThrow(expect.objectContaining(INVALID));
    expect(() => disposeOnSignal(createServer(), container)).toThrow(expect.objectContaining(INVALID));
  });
});

describe('a scope that fails to dispose', () => {
  it('is reported to onDisposeError when a container of another implementation throws at once', async () => {
    const reported = signal<unknown>();
    const broken: IContainer = {
      createScope: () => broken,
      resolve: <T>() => undefined as T,
      register: () => undefined,
      dispose: () => {
        throw new Error('broken');
      },
    };
    const app = express().use(containerMiddleware(broken, { onDisposeError: reported.resolve }));
    const { fetch } = await serve(app);
    expect((await fetch('/')).status).toBe(404);
    expect(await reported.promise).toEqual(new Error('broken'));
  });
});

/** No connection at all, as under tests that hand requests to the application by themselves; nobody closes it. */
function noSocket(): Socket {
  return new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() }) as Socket;
}

async function inject(app: Express, socket: Socket): Promise<number> {
  const req = Object.assign(new IncomingMessage(socket), { method: 'GET', url: '/' });
  const res = new ServerResponse(req);
  res.assignSocket(socket);
  app(req, res);
  await once(res, 'finish');
  res.detachSocket(socket);
  return res.statusCode;
}

describe('a request that did not come through a server', () => {
  it('has its transaction, and may follow another', async () => {
    const { app, pool, container } = application();
    app.get('/', withTransaction(), async (req, res) => {
      await store(req, 'order');
      res.status(201).end('done');
    });
    const socket = noSocket();
    expect([await inject(app, socket), await inject(app, socket)]).toEqual([201, 201]);
    await expectAllEnded({ container, pool });
    expect(pool.stored).toEqual(['order', 'order']);
  });
});
