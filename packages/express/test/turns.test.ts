import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { Container } from '@ambit/container';
import express from 'express';
import { expect, test } from 'vitest';
import { containerMiddleware, drain } from '../src/index.js';

test('a pipelined request that waited its turn runs in its own asynchronous context where the middleware is mounted twice', async () => {
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
