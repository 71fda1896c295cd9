import { msOf, signal } from '@ambit/test-kit';
import dns from 'node:dns';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Container } from '@ambit/container';
import { fastify } from 'fastify';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { containerPlugin } from '../src/index.js';
import { application, get, serve } from './support/app.js';

type Found = (error: null, addresses: dns.LookupAddress[]) => void;

test('a request that comes in behind one that was to be the last is responded to, and says `Connection: close` instead', async () => {
  const app = fastify({ return503OnClosing: false });
  const arrived = signal();
  const finish = signal();
  await app.register(containerPlugin, { container: new Container() });
  app.get('/a', async () => {
    arrived.resolve();
    await finish.promise;
    return 'answer a';
  });
  app.get('/b', () => {
    finish.resolve();
    return 'answer b';
  });
  const socket = await (await serve(app)).socket();
  socket.write(get('/a'));
  await arrived.promise;

  const closed = app.close();
  await expect.poll(() => app.server.listening).toBe(false);
  socket.write(get('/b'));
  const [, first, second] = (await text(socket)).split('HTTP/1.1 200');

  expect(first).toContain('answer a');
  expect(first).not.toMatch(/connection: close/i);
  expect(second).toContain('answer b');
  expect(second).toMatch(/connection: close/i);
  await closed;
});

test('a connection whose response had begun when the server closes is not waited for once it is idle', async () => {
  const { app } = await application();
  const begun = signal();
  const finish = signal();
  app.get('/', async (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-length': 4 });
    reply.raw.write('so');
    begun.resolve();
    await finish.promise;
    reply.raw.end('me');
  });
  const socket = await (await serve(app)).socket();
  socket.write(get('/'));
  await begun.promise;

  const closed = app.close();
  await expect.poll(() => app.server.listening).toBe(false);
  finish.resolve();
  socket.resume();

  // Below what keep-alive waits.
  expect(await msOf(Promise.all([closed, once(socket, 'close')]))).toBeLessThan(2000);
});

test('on `localhost`, where Fastify listens twice and waits for one, the container outlives the requests of both', async ({
  skip,
}) => {
  const { app, container } = await application();
  const arrived = signal();
  const finish = signal();
  app.get('/', async () => {
    arrived.resolve();
    await finish.promise;
    return { disposed: container.disposed };
  });
  const { lookup } = dns;
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(((...args: [string, object, Found]) => {
    // Node may ask for one address, Fastify asks for all.
    const [, options, found] = args;
    if (!found || !('all' in options)) return Reflect.apply(lookup, dns, args) as void;
    const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
    return found(null, addresses);
  }) as typeof lookup);
  await app.listen({ port: 0, host: 'localhost' });
  spy.mockRestore();
  const { address: first } = app.server.address() as AddressInfo;
  const second = (app.addresses() as AddressInfo[]).find(({ address }) => address !== first);
  if (!second) {
    await app.close();
    // From Node 22 on, its own look-up cannot be replaced.
    skip('Fastify listens once here');
    return;
  }
  const response = fetch(`http://${second.address}:${second.port}/`);
  await arrived.promise;

  const firstClosed = once(app.server, 'close');
  const closed = app.close();
  await firstClosed;
  await new Promise(setImmediate);
  finish.resolve();

  expect(await (await response).json()).toEqual({ disposed: false });
  await closed;
  expect(container.disposed).toBe(true);
});

const sessions: ClientHttp2Session[] = [];

afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy();
});

/** A server, and a client whose session is established. */
async function connected({
  handler = () => 'hello',
  onPreClose,
}: { handler?: () => unknown; onPreClose?: (open: () => ClientHttp2Session) => unknown } = {}) {
  const container = new Container();
  const app = fastify({ http2: true });
  await app.register(containerPlugin, { container });
  app.get('/', handler);
  const open = (): ClientHttp2Session => {
    const session = connectHttp2(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
    sessions.push(session);
    return session;
  };
  app.addHook('preClose', async () => void (await onPreClose?.(open)));
  await app.listen({ port: 0, host: '127.0.0.1' });
  const session = open();
  await once(session, 'remoteSettings');
  return { app, container, session };
}

describe('a server that closes and speaks HTTP/2', () => {
  test('does not wait for a client that keeps its session idle', async () => {
    const { app, session } = await connected();
    const stream = session.request({ ':path': '/' });
    expect(await text(stream)).toBe('hello');
    await Promise.all([app.close(), once(session, 'close')]);
  });

  test('responds to the streams in progress, and takes no more on their session', async () => {
    const arrived = signal();
    const finish = signal();
    const { app, container, session } = await connected({
      handler: async () => {
        arrived.resolve();
        await finish.promise;
        return { disposed: container.disposed };
      },
    });
    const stream = session.request({ ':path': '/' });
    await arrived.promise;

    const closed = app.close();
    await once(session, 'goaway');
    finish.resolve();
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];

    expect(headers[':status']).toBe(200);
    expect(await text(stream)).toBe('{"disposed":false}');
    expect(session.closed).toBe(true);
    await closed;
    expect(container.disposed).toBe(true);
  });

  test('turns away who comes while it closes', async () => {
    const turnedAway = signal();
    const { app } = await connected({ onPreClose: (open) => once(open(), 'goaway').then(() => turnedAway.resolve()) });
    await Promise.all([app.close(), turnedAway.promise]);
    expect(app.server.listening).toBe(false);
  });
});
