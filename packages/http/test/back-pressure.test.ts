import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Container } from '@ambit/container';
import { expect, onTestFinished, test } from 'vitest';
import { createHandler } from '../src/index.js';

const CLIENTS = 4;
const REQUESTS = 1500;
const PER_WRITE = 100;
const BODY = 'x'.repeat(4000);

// Node stops reading a connection whose responses wait for a slow one, and asserts that nobody else has it read on.
test('requests that are pipelined faster than they are responded to all get their responses', async () => {
  const container = new Container({ tags: ['application'] });
  const handler = createHandler(container, async (req, res) => {
    // Each fiftieth response is late, and all behind it wait for it.
    await after(Number(req.url?.slice(1)) % 50 === 0 ? 300 : 5);
    res.end(`${req.url}:${BODY}`);
  });
  const server = createServer(handler).listen(0, '127.0.0.1');
  onTestFinished(() => container.dispose());
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const urls = await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const client = connect(port, '127.0.0.1');
      let text = '';
      client.setEncoding('latin1').on('data', (part) => (text += part));
      for (let first = 0; first < REQUESTS; first += PER_WRITE) {
        const requests = Array.from({ length: PER_WRITE }, (_, index) => {
          const url = first + index;
          return `GET /${url} HTTP/1.1\r\nHost: a\r\n${url === REQUESTS - 1 ? 'Connection: close\r\n' : ''}\r\n`;
        });
        client.write(requests.join(''));
        await after(3);
      }
      await once(client, 'close');
      return Array.from(text.matchAll(/\r\n\r\n\/(\d+):x{4000}/g), ([, url]) => Number(url));
    }),
  );

  const all = Array.from({ length: REQUESTS }, (_, index) => index);
  expect(urls).toEqual(Array.from({ length: CLIENTS }, () => all));
});

test('the body of a request that has begun is read, though as many wait as may and it is known twice', async () => {
  const program = fileURLToPath(new URL('support/crowded.mjs', import.meta.url));
  const run = promisify(execFile)(process.execPath, ['--max-old-space-size=64', program], { timeout: 20_000 });
  expect((await run).stdout).toBe('200 503 200 503\n');
});
