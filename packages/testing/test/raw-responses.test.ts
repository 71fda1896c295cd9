import { createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { RawClient } from '../src/tools.js';

/** What a client makes of these bytes. */
async function read(bytes: string): Promise<string> {
  const server = createServer((socket) => void socket.on('error', () => undefined).write(bytes)).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const client = await RawClient.connect((server.address() as AddressInfo).port);
  onTestFinished(() => client.leave());
  return (await client.response()).text;
}

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n';

test('the raw client reads what is framed well', async () => {
  expect(await read('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')).toBe('hi');
  expect(await read(`${CHUNKED}\r\n2\r\nhi\r\nA\r\n0123456789\r\n0\r\n\r\n`)).toBe('hi0123456789');
});

test.each([
  [
    'two lengths',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi',
    'content-length and content-length',
  ],
  [
    'a length and chunks',
    `${CHUNKED}Content-Length: 2\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    'transfer-encoding and content-length',
  ],
  ['a size that is none', `${CHUNKED}\r\n2garbage\r\nhi\r\n0\r\n\r\n`, 'the size of a chunk is "2garbage"'],
  ['a chunk that goes on', `${CHUNKED}\r\n2\r\nhello\r\n0\r\n\r\n`, 'behind a chunk of 2 bytes comes "ll"'],
  ['no head', '}\r\n\r\n', 'it begins with "}"'],
])('the raw client refuses %s', async (_what, bytes, says) => {
  await expect(read(bytes)).rejects.toThrow(says);
});
