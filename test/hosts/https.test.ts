import { once } from 'node:events';
import { createServer } from 'node:https';
import { type AddressInfo, connect as connectPlain } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import { Container } from '@ambit/container';
import { containerMiddleware, drain } from '@ambit/express';
import { containerPlugin } from '@ambit/fastify';
import { createHandler } from '@ambit/http';
import express from 'express';
import { fastify, type FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { certificate, msOf, Pause, refused } from '@ambit/test-kit';

/** Responds to every request with the result of `work`; `close` is how this host is stopped. */
type Serve = (work: () => Promise<string>) => Promise<{ port: number; close: () => Promise<void> }>;

const onExpress: Serve = async (work) => {
  const app = express().use(containerMiddleware(new Container()));
  app.get('/', async (_req, res) => void res.send(await work()));
  const server = createServer(certificate, app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => drain(server) };
};

const onNode: Serve = async (work) => {
  const handler = createHandler(new Container(), async (_req, res) => res.end(await work()));
  const server = createServer(certificate, handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => drain(server) };
};

const onFastify: Serve = async (work) => {
  const app = fastify({ https: certificate }) as unknown as FastifyInstance;
  await app.register(containerPlugin, { container: new Container() });
  app.get('/', work);
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
};

async function client(port: number): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ca: certificate.cert, servername: 'localhost' });
  await once(socket, 'secureConnect');
  return socket;
}

const hosts: readonly [string, Serve][] = [
  ['Express', onExpress],
  ['Fastify', onFastify],
  ['node:http', onNode],
];

test.each(hosts)('closing %s over TLS does not wait for half a handshake, nor half a head in one', async (_, serve) => {
  const { port, close } = await serve(async () => 'hello');
  const half = connectPlain(port, '127.0.0.1');
  const asking = await client(port);
  // The first bytes of a ClientHello of 512.
  half.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
  asking.write('GET / HTTP/1.1\r\nhost: te');
  // By now the server has read both.
  const other = await client(port);
  other.write('GET / HTTP/1.1\r\nhost: test\r\n\r\n');
  await once(other, 'data');
  const closed = [close(), once(half.resume(), 'close'), once(asking.resume(), 'close')];
  // Below the 10 s after which connections are cut by force.
  expect(await msOf(Promise.all(closed))).toBeLessThan(9000);
});

test.each(hosts)(
  'closing %s over TLS waits for who has asked something, and not for who never did',
  async (_name, serve) => {
    const work = new Pause();
    const { port, close } = await serve(async () => {
      await work.here();
      return 'hello';
    });
    const [silent, asking] = await Promise.all([client(port), client(port)]);
    asking.write('GET / HTTP/1.1\r\nhost: test\r\n\r\n');
    await work.reached;
    const silentClosed = once(silent.resume(), 'close');
    const closed = close();
    await refused(port);
    await silentClosed;
    work.letGo();
    expect(await text(asking)).toContain('hello');
    await closed;
  },
);
