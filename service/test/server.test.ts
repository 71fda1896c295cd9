import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { requestText } from '@ambit/test-kit';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { urlOf } from '../src/hosts/host.js';
import { acceptWaitingClients, limitServer, respondToClientError } from '../src/http/server.js';
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
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const limited = createServer();
  try {
    const lines: string[] = [];
    const logger = createLogger('info', { write: (line) => void lines.push(line) });
    limitServer(limited, { logger, maxConnections: 1 });
    await once(limited.listen(0, '127.0.0.1'), 'listening');
    const { port } = limited.address() as AddressInfo;
    const accepted = once(limited, 'connection');
    const silent = connect(port, '127.0.0.1');
    await accepted;
    for (let i = 0; i < 3; i++) {
      const refused = connect(port, '127.0.0.1').on('error', () => undefined);
      await once(refused.resume(), 'close');
    }
    const record = {
      level: 40,
      msg: 'connections refused: as many are open as MAX_CONNECTIONS allows',
      maxConnections: 1,
      fix: expect.stringContaining('ulimit -n'),
    };
    const records = (): object[] => lines.map((line) => JSON.parse(line) as object);
    expect(records()).toMatchObject([{ ...record, refused: 1 }]);
    vi.advanceTimersByTime(60_000);
    expect(records()).toMatchObject([record, { ...record, refused: 2 }]);
    vi.advanceTimersByTime(60_000);
    expect(lines).toHaveLength(2);
    silent.destroy();
  } finally {
    vi.useRealTimers();
    limited.close();
  }
});

test('by default three quarters of the descriptors are for connections', () => {
  const script = `import('./http/server.js').then(({ affordableConnections }) => console.log(affordableConnections()))`;
  const most = (limit: string): string =>
    execFileSync('sh', ['-c', `ulimit -n ${limit} && exec "$0" -e "$1"`, process.execPath, script], {
      cwd: join(import.meta.dirname, '../dist'),
      encoding: 'utf8',
    });
  expect(Number(most('512'))).toBe(384);
  expect(Number(most('$(ulimit -Hn)'))).toBeLessThanOrEqual(10_000);
});

test('acceptWaitingClients() sends a request of its own, and resolves when nobody responds', async () => {
  await acceptWaitingClients(urlOf(server));
  await expect.poll(() => asked).toEqual(['/health/live']);
  for (const url of ['http://127.0.0.1:1', 'http://[fe80::1%nowhere]:1'])
    await expect(acceptWaitingClients(url)).resolves.toBeUndefined();
});
