// Server-sent events on each host: the stream ends when the server begins to close, so that no client holds the shutdown for its whole limit.
import { once } from 'node:events';
import type { Server } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setInterval } from 'node:timers/promises';
import type { Container } from '@ambit/container';
import * as onExpress from '@ambit/express';
import { containerPlugin } from '@ambit/fastify';
import * as onHono from '@ambit/hono';
import { serve } from '@hono/node-server';
import express from 'express';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { stream } from 'hono/streaming';

const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

/** The client connects again, to another instance, one second after its stream has ended. */
async function* events(shutdown: AbortSignal): AsyncGenerator<string> {
  yield 'retry: 1000\ndata: hello\n\n';
  try {
    for await (const _ of setInterval(1000, undefined, { signal: shutdown })) yield `data: ${Date.now()}\n\n`;
  } catch (error) {
    if (!shutdown.aborted) throw error;
  }
}

interface Running {
  readonly server: Server;
  stop(): Promise<void>;
}

export async function serveExpress(container: Container): Promise<Running> {
  const app = express().use(onExpress.containerMiddleware(container));
  app.get('/events', async (req, res) => {
    res.writeHead(200, HEADERS);
    const shutdown = onExpress.resolve(req, 'IShutdownSignal');
    // A client that leaves is no failure.
    await pipeline(Readable.from(events(shutdown)), res).catch(() => undefined);
  });
  const server = app.listen(0);
  await once(server, 'listening');
  return { server, stop: () => onExpress.drain(server) };
}

export async function serveFastify(container: Container): Promise<Running> {
  const app = fastify();
  await app.register(containerPlugin, { container });
  app.get('/events', (request, reply) =>
    reply.headers(HEADERS).send(Readable.from(events(request.container.resolve('IShutdownSignal')))),
  );
  await app.listen({ port: 0 });
  return { server: app.server, stop: () => app.close() };
}

/** `@ambit/fetch` responds the same way, with the scope that its handler receives. */
export async function serveHono(container: Container): Promise<Running> {
  const app = new Hono().use(onHono.containerMiddleware(container));
  app.get('/events', (c) => {
    const shutdown = c.var.container.resolve('IShutdownSignal');
    for (const [name, value] of Object.entries(HEADERS)) c.header(name, value);
    return stream(c, async (body) => {
      for await (const text of events(shutdown)) {
        if (body.aborted) break;
        await body.write(text);
      }
    });
  });
  const server = serve({ fetch: app.fetch, port: 0 }) as Server;
  await once(server, 'listening');
  return { server, stop: () => onExpress.drain(server) };
}
