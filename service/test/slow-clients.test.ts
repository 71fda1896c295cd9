import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { requestText } from '@ambit/host-contract';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { respondToClientError, limitServer } from '../src/http/server-limits.js';
import { createLogger } from '../src/index.js';

const [HEAD = '', BODY = ''] = requestText({ method: 'POST', path: '/', body: 'text' }).split(/(?<=\r\n\r\n)/);

/** More than fits on the way. */
const MUCH = 64 * 1_048_576;

let server: Server;
let carriedOut = 0;
/** It never closes its side of the connection. */
let client: Socket;
/** The other end of it. */
let socket: Socket;

beforeEach(async () => {
  const logger = createLogger('silent');
  server = createServer({ connectionsCheckingInterval: 10 }, (req, res) => {
    req.resume().on('end', () => (carriedOut += 1));
    if (req.method === 'GET') res.end(Buffer.alloc(MUCH));
  });
  limitServer(server, logger);
  server.on('clientError', respondToClientError(logger));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  client.on('error', () => undefined);
  [socket] = (await once(server, 'connection')) as [Socket];
});

afterEach(() => {
  client.destroy();
  server.close();
});

test('a request that took too long is answered with 408, and is not carried out when the rest comes after all', async () => {
  server.headersTimeout = server.requestTimeout = 50;
  const closed = once(socket, 'close');
  client.write(HEAD);
  const [answer] = (await once(client, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 408 [^]*\{"error":"The request took too long to arrive"\}$/);
  client.write(BODY);
  await closed;
  expect(carriedOut).toBe(0);
});

test('what is no HTTP is answered with 400, and its connection is closed though the client keeps it open', async () => {
  const closed = once(socket, 'close');
  client.write('HELLO\r\n\r\n');
  const [answer] = (await once(client, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 /);
  await closed;
});

test('who does not read its answer is given up', async () => {
  expect(socket.timeout).toBe(120_000);
  socket.setTimeout(50);
  const closed = once(socket, 'close');
  client.pause();
  client.write(requestText({ path: '/' }));
  await closed;
});
