import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Container } from '@ambit/container';
import { expect, onTestFinished, test } from 'vitest';
import { createHandler } from '../src/index.js';

const TOO_LATE = 'HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n';

/** What a client gets whose body never comes, from a server that waits 100 ms for it and responds as applications do. */
async function responseTo(handle: (res: ServerResponse) => void): Promise<string> {
  const container = new Container({ tags: ['application'] });
  const times = { requestTimeout: 100, headersTimeout: 100, connectionsCheckingInterval: 20 };
  const server = createServer(
    times,
    createHandler(container, (_req, res) => handle(res)),
  );
  server.on('clientError', (_error, socket) => void socket.end(TOO_LATE));
  server.listen(0, '127.0.0.1');
  onTestFinished(() => container.dispose());
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let text = '';
  client.setEncoding('latin1').on('data', (part) => (text += part));
  client.write('POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 10\r\n\r\n12345');
  await once(client, 'close');
  return text;
}

test('a body that comes too late gets 408', async () => {
  expect(await responseTo(() => undefined)).toBe(TOO_LATE);
});

test('a body that comes too late cuts the response that has begun, and no 408 is written into it', async () => {
  const text = await responseTo((res) => void res.writeHead(200, { 'transfer-encoding': 'chunked' }).write('first'));
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n5\r\nfirst\r\n$/);
});
