import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { Container } from '@ambit/container';
import express from 'express';
import { expect, test } from 'vitest';
import { containerMiddleware, drain } from '../src/index.js';

test('a pipelined request that waited its turn runs in its own asynchronous context, also below a second middleware', async () => {
  const context = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  const container = new Container({ tags: ['application'] });
  const app = express();
  app.use((req, _res, next) => context.run(req.url, next));
  app.use(containerMiddleware(container, { maxRequestsPerConnection: 1 }));
  app.use(containerMiddleware(container, { maxRequestsPerConnection: 1 }));
  app.get('/:id', async (_req, res) => {
    seen.push(context.getStore());
    res.end('ok');
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');

  socket.write(['/1', '/2', '/3'].map((path) => `GET ${path} HTTP/1.1\r\nhost: test\r\n\r\n`).join(''));
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    if (text.split('HTTP/1.1 200').length === 4) break;
  }
  await drain(server);

  expect(seen).toEqual(['/1', '/2', '/3']);
});

test('pipelined requests that overtake each other in a middleware are all responded to, in order', async () => {
  const container = new Container({ tags: ['application'] });
  const app = express();
  const count = 12;
  const arrived: (() => void)[] = [];
  // The last to arrive goes on first.
  app.use((_req, _res, next) => {
    arrived.push(next);
    if (arrived.length === count) for (const goOn of arrived.splice(0).toReversed()) setImmediate(goOn);
  });
  app.use(containerMiddleware(container, { maxRequestsPerConnection: 2 }));
  const running = { now: 0, most: 0 };
  app.get('/:id', async (req, res) => {
    running.most = Math.max(running.most, (running.now += 1));
    res.once('finish', () => (running.now -= 1));
    res.end(`<${req.params.id}>`);
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');

  const paths = Array.from({ length: count }, (_, id) => `/${id}`);
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: test\r\n\r\n`).join(''));
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    if (text.endsWith(`<${count - 1}>`)) break;
  }
  await drain(server);

  expect([...text.matchAll(/<(\d+)>/g)].map(([, id]) => `/${id}`)).toEqual(paths);
  // The one whose response is next is never made to wait.
  expect(running.most).toBeLessThanOrEqual(3);
});
