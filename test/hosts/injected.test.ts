import { once } from 'node:events';
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { Container } from '@ambit/container';
import { containerMiddleware } from '@ambit/express';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import { createHandler } from '@ambit/http';
import { FakePool } from '@ambit/transaction/testing';
import express from 'express';
import { fastify } from 'fastify';
import { describe, expect, test } from 'vitest';
import { collectGarbage } from '@ambit/testing/hosts';

type Saw = (socket: object) => void;

/** Hands a request to the host past any connection, as tests and adapters for functions in a cloud do. */
type Inject = () => Promise<unknown>;

/** No connection at all; nobody closes it. */
const noSocket = (): Socket =>
  new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() }) as Socket;

async function emitRequest(server: Server, socket: Socket): Promise<void> {
  const request = Object.assign(new IncomingMessage(socket), { method: 'GET', url: '/' });
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  server.emit('request', request, response);
  await once(response, 'finish');
  response.detachSocket(socket);
}

async function serveOnExpress(saw: Saw): Promise<Server> {
  const app = express().use(containerMiddleware(new Container()));
  app.get('/', (req, res) => {
    saw(req.socket);
    res.end('hello');
  });
  return createServer(app);
}

async function serveOnNode(saw: Saw): Promise<Server> {
  const handler = createHandler(new Container(), (req, res) => {
    saw(req.socket);
    res.end('hello');
  });
  return createServer(handler);
}

async function buildOnFastify(saw: Saw) {
  const app = fastify();
  await app.register(containerPlugin, { container: new Container() });
  app.get('/', ({ raw }) => {
    saw(raw.socket);
    return 'hello';
  });
  await app.ready();
  return app;
}

const serveOnFastify = async (saw: Saw): Promise<Server> => (await buildOnFastify(saw)).server;

const HOSTS: [string, (saw: Saw) => Promise<Server>][] = [
  ['Express', serveOnExpress],
  ['Fastify', serveOnFastify],
  ['node:http', serveOnNode],
];

const WAYS: [string, (saw: Saw) => Promise<Inject>][] = [
  ...HOSTS.map(([name, serve]): (typeof WAYS)[number] => [
    name,
    async (saw) => {
      const server = await serve(saw);
      return () => emitRequest(server, noSocket());
    },
  ]),
  [
    "Fastify's own inject()",
    async (saw) => {
      const app = await buildOnFastify(saw);
      return () => app.inject('/');
    },
  ],
];

describe('a request that did not come through a connection', () => {
  test.each(WAYS)('leaves nothing behind: %s', async (_name, prepare) => {
    const sockets: WeakRef<object>[] = [];
    const inject = await prepare((socket) => void sockets.push(new WeakRef(socket)));
    for (let i = 0; i < 5; i += 1) await inject();
    await collectGarbage();
    // Of the last one the framework, Node or V8 may know.
    expect(sockets).toHaveLength(5);
    expect(sockets.filter((socket) => socket.deref()).length).toBeLessThanOrEqual(1);
  });

  test.each(HOSTS)('may follow another, and leaves no listener: %s', async (_name, serve) => {
    const server = await serve(() => undefined);
    const socket = noSocket();
    const listeners = socket.listenerCount('close');
    for (let i = 0; i < 2; i += 1) await emitRequest(server, socket);
    expect(socket.listenerCount('close')).toBe(listeners);
  });

  test('has its body: its transaction begins before the handler runs', async () => {
    const pool = new FakePool();
    const container = new Container();
    container.register('IDatabasePool', () => pool);
    const app = fastify();
    await app.register(containerPlugin, { container });
    await app.register(transactionPlugin);
    app.post('/', async (request) => {
      await request.startTransaction();
      const { out } = pool;
      await request.commitTransaction();
      return { out };
    });
    const response = await app.inject({ method: 'POST', url: '/', payload: { product: 'apple' } });
    expect(response.json()).toEqual({ out: 1 });
    await app.close();
  });
});
