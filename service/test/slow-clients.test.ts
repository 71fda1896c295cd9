import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { requestText } from '@ambit/host-contract';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { limitServer, respondToClientError } from '../src/http/server.js';
import { createLogger } from '../src/index.js';

const [HEAD = '', BODY = ''] = requestText({ method: 'POST', path: '/', body: 'text' }).split(/(?<=\r\n\r\n)/);

/** More than sockets buffer. */
const MUCH = 64 * 1_048_576;

let server: Server;
let carriedOut = 0;
/** A client that never closes its side of the connection. */
let client: Socket;
/** The server's end of the client's connection. */
let socket: Socket;

beforeEach(async () => {
  const logger = createLogger('silent');
  server = createServer({ connectionsCheckingInterval: 10 }, (req, res) => {
    req.resume().on('end', () => (carriedOut += 1));
    if (req.method === 'GET') res.end(Buffer.alloc(MUCH));
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

test('a request that took too long gets 408, and is not carried out when the rest arrives', async () => {
  server.headersTimeout = server.requestTimeout = 50;
  const closed = once(socket, 'close');
  client.write(HEAD);
  const [response] = (await once(client, 'data')) as [Buffer];
  expect(response.toString()).toMatch(/^HTTP\/1\.1 408 [^]*\{"error":"The request took too long to arrive"\}$/);
  client.write(BODY);
  await closed;
  expect(carriedOut).toBe(0);
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

test('an idle connection is closed although its client sends an empty line now and then', async () => {
  server.keepAliveTimeout = 100;
  client.write(requestText({ method: 'PUT', path: '/' }));
  await once(client, 'data');
  const lines = setInterval(() => client.write('\r\n'), 200);
  await expect(once(socket, 'close')).resolves.toEqual([false]);
  clearInterval(lines);
});

test('a connection with a request now and then stays open', async () => {
  server.keepAliveTimeout = 100;
  for (let sent = 0; sent < 8; sent += 1) {
    client.write(requestText({ method: 'PUT', path: '/' }));
    await once(client, 'data');
    await pause(300);
  }
  expect(socket.destroyed).toBe(false);
});

test('connections beyond the limit are closed at once, and logged once a minute', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const limited = createServer();
  try {
    const lines: string[] = [];
    const logger = createLogger('info', { write: (line) => void lines.push(line) });
    limitServer(limited, { logger, maxConnections: 2 });
    await once(limited.listen(0, '127.0.0.1'), 'listening');
    const { port } = limited.address() as AddressInfo;
    const silent = await Promise.all(
      [1, 2].map(async () => {
        const accepted = once(limited, 'connection');
        const one = connect(port, '127.0.0.1');
        await accepted;
        return one;
      }),
    );
    const refuse = async (): Promise<void> => {
      await once(
        connect(port, '127.0.0.1')
          .on('error', () => undefined)
          .resume(),
        'close',
      );
    };
    for (let i = 0; i < 3; i++) await refuse();
    const record = {
      level: 40,
      msg: 'connections refused: as many are open as MAX_CONNECTIONS allows',
      maxConnections: 2,
      fix: expect.stringContaining('ulimit -n'),
    };
    const records = (): object[] => lines.map((line) => JSON.parse(line) as object);
    expect(records()).toMatchObject([{ ...record, refused: 1 }]);
    vi.advanceTimersByTime(60_000);
    expect(records()).toMatchObject([record, { ...record, refused: 2 }]);
    vi.advanceTimersByTime(60_000);
    expect(lines).toHaveLength(2);
    for (const one of silent) one.destroy();
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
