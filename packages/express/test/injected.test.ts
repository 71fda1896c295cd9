import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { Express } from 'express';
import { describe, expect, it } from 'vitest';
import { withTransaction } from '../src/index.js';
import { application, expectAllEnded, store } from './support/app.js';
import { collectGarbage } from './support/garbage.js';

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
  it('leaves nothing behind', async () => {
    const { app } = application();
    app.get('/', (_req, res) => void res.end('done'));
    const injected = async (): Promise<WeakRef<Socket>> => {
      const socket = noSocket();
      await inject(app, socket);
      return new WeakRef(socket);
    };
    const socket = await injected();
    await collectGarbage();
    expect(socket.deref()).toBeUndefined();
  });

  it('may follow another, any number of times', async () => {
    const { app, pool, container } = application();
    app.get('/', withTransaction(), async (req, res) => {
      await store(req, 'order');
      res.status(201).end('done');
    });
    const socket = noSocket();
    const listeners = socket.listenerCount('close');
    expect([await inject(app, socket), await inject(app, socket)]).toEqual([201, 201]);
    expect(socket.listenerCount('close')).toBe(listeners);
    await expectAllEnded({ container, pool });
    expect(pool.stored).toEqual(['order', 'order']);
  });
});
