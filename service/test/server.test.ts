import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { requestText } from '@ambit/test-kit';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { limitServer, respondToClientError } from '../src/http/server.js';
import { createLogger } from '../src/index.js';

const [HEAD = '', BODY = ''] = requestText({ method: 'POST', path: '/', body: 'text' }).split(/(?<=\r\n\r\n)/);

/** More than sockets buffer. */
const MUCH = 64 * 1_048_576;

let server: Server;
let asked: unknown[];
/** A client that never closes its side of the connection. */
let client: Socket;
/** The server's end of the client's connection. */
let socket: Socket;

beforeEach(async () => {
  const logger = createLogger('silent');
  asked = [];
  server = createServer({ connectionsCheckingInterval: 10 }, (req, res) => {
    req.resume().on('end', () => asked.push(req.url));
    if (req.method === 'GET') res.end(req.url === '/' ? Buffer.alloc(MUCH) : '');
    if (req.method === 'PUT') res.end();
  });
  limitServer(server, { logger });
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

test('a head has 30 s to arrive, a whole request 60 s', () => {
  expect([server.headersTimeout, server.requestTimeout]).toEqual([30_000, 60_000]);
});

test.each([
  ['head', 'GET /health/live HTTP/1.1\r\n'],
  ['body', HEAD],
])('a %s that arrives too slowly gets 408, and is not carried out when the rest arrives', async (_what, start) => {
  server.headersTimeout = server.requestTimeout = 50;
  const closed = once(socket, 'close');
  client.write(start);
  const [response] = (await once(client, 'data')) as [Buffer];
  expect(response.toString()).toMatch(/^HTTP\/1\.1 408 [^]*\{"error":"The request took too long to arrive"\}$/);
  client.write(BODY);
  await closed;
  expect(asked).toEqual([]);
});

test('invalid HTTP gets 400, and its connection is closed even if the client keeps it open', async () => {
  const closed = once(socket, 'close');
  client.write('HELLO\r\n\r\n');
  const [response] = (await once(client, 'data')) as [Buffer];
  expect(response.toString()).toMatch(/^HTTP\/1\.1 400 /);
  await closed;
});

test('the connection of a client that does not read its response is closed', async () => {
  expect(socket.timeout).toBe(120_000);
  socket.setTimeout(50);
  const closed = once(socket, 'close');
  client.pause();
  client.write(requestText({ path: '/' }));
  await closed;
});

test('connections beyond the limit are closed at once, and logged once a minute', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const lines: string[] = [];
  const limited = createServer();
  limitServer(limited, { logger: createLogger('info', { write: (line) => void lines.push(line) }), maxConnections: 1 });
  await once(limited.listen(0, '127.0.0.1'), 'listening');
  const { port } = limited.address() as AddressInfo;
  const accepted = once(limited, 'connection');
  const silent = connect(port, '127.0.0.1');
  await accepted;
  for (const ms of [0, 1000, 59_000]) {
    vi.advanceTimersByTime(ms);
    const refused = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(refused.resume(), 'close');
  }
  silent.destroy();
  limited.close();
  const record = {
    level: 40,
    msg: 'connections refused: as many are open as MAX_CONNECTIONS allows',
    maxConnections: 1,
  };
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([record, record]);
});
