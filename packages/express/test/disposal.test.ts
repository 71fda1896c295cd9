import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { IContainer } from '@ambit/container';
import { signal } from '@ambit/test-kit';
import express from 'express';
import type { Express } from 'express';
import { describe, expect, it } from 'vitest';
import { containerMiddleware, withTransaction } from '../src/index.js';
import { application, serve, expectAllEnded, store } from './support/app.js';

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
