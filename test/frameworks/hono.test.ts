import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { containerMiddleware, problemOf, withTransaction } from '@ambit/hono';
import { drain } from '@ambit/http';
import { serve, type ServerType } from '@hono/node-server';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { compress } from 'hono/compress';
import { etag } from 'hono/etag';
import { streamSSE, streamText } from 'hono/streaming';
import { timeout } from 'hono/timeout';
import { webStreamOf } from '@ambit/testing/tools';
import { type Application, type Middleware, middlewareContract, type Running } from './contract.js';
import { ACCEPTS_GZIP, BLOCKS_OF_ROWS, MANY_ROWS, requestsTo, ROW, rowsInTime } from './fixtures.js';

const TEXT = { 'content-type': 'text/plain' };

const handlers: Record<string, (c: Context) => Response> = {
  '/json': (c) => c.json({ rows: [ROW] }, 201),
  '/head': (c) => c.newResponse(ROW, 201, { ...TEXT, 'content-length': String(ROW.length) }),
  '/empty': (c) => c.body(null, 204),
  '/not-modified': (c) => c.body(null, 304),
  '/large': (c) => c.text(MANY_ROWS),
  '/pipeline': (c) => c.body(webStreamOf(Readable.from(BLOCKS_OF_ROWS)), 200, TEXT),
  '/writes': (c) => c.body(webStreamOf(Readable.from(rowsInTime())), 200, TEXT),
  '/stream-text': (c) =>
    streamText(c, async (stream) => {
      for await (const row of rowsInTime()) await stream.write(row);
    }),
  '/stream-sse': (c) =>
    streamSSE(c, async (stream) => {
      for await (const row of rowsInTime()) await stream.writeSSE({ data: row });
    }),
};

const middlewares: readonly Middleware<MiddlewareHandler>[] = [
  { name: 'compress', use: () => compress({ threshold: 0 }), request: ACCEPTS_GZIP },
  { name: 'compress of what is long', use: () => compress(), request: ACCEPTS_GZIP },
  { name: 'etag', use: () => etag() },
  { name: 'timeout', use: () => timeout(5000) },
];

async function start({ middleware, transaction, work, onError }: Application<MiddlewareHandler>): Promise<Running> {
  const app = new Hono();
  app.get('/ping', (c) => c.text('pong'));
  const works: MiddlewareHandler = async (c, next) => {
    await work(c.get('transactionScope'));
    await next();
  };
  if (!transaction) app.use(middleware, works);
  else {
    const { container, middlewareIs, endTimeoutMs } = transaction;
    const begins = withTransaction({ endTimeoutMs });
    app.use(containerMiddleware(container));
    if (middlewareIs === 'before') app.use(middleware, begins, works);
    else app.use(begins, works, middleware);
  }
  for (const [path, handle] of Object.entries(handlers)) app.all(path, handle);
  app.onError((error, c) => {
    onError(error);
    const { status, headers, body } = problemOf(error);
    return c.json(body, status as 500, headers);
  });
  const server = await new Promise<ServerType>((resolve) => {
    const listening = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(listening));
  });
  return { port: (server.address() as AddressInfo).port, close: () => drain(server) };
}

middlewareContract({
  name: 'Hono',
  middlewares,
  requests: requestsTo(handlers),
  start,
});
