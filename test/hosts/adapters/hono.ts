import { drain } from '@ambit/http';
import { type ServerType, serve } from '@hono/node-server';
import type { AppDescription, Host, RunningHost } from '@ambit/testing/hosts';
import { OF_FETCH, runtime, serveFetch } from './fetch-server.js';
import { honoApp, OF_HONO } from './hono-app.js';

/** Hono on the server of whichever runtime runs the tests; on Node the socket tells about the client. */
export const honoHost: Host =
  runtime === 'Node'
    ? { name: 'Hono', exceptions: OF_HONO, start: startOnNode }
    : { name: `Hono on ${runtime}`, exceptions: [...OF_HONO, ...OF_FETCH], start };

async function start(description: AppDescription): Promise<RunningHost> {
  const { app, close } = honoApp(description);
  const server = await serveFetch(
    async (request) => app.fetch(request),
    () => new Response(null, { status: 500 }),
  );
  return { port: server.port, close: async () => void (await Promise.all([server.stop(), close()])) };
}

async function startOnNode(description: AppDescription): Promise<RunningHost> {
  const { app, close } = honoApp(description);
  const server = await new Promise<ServerType>((resolve) => {
    const listening = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(listening));
  });
  return {
    port: (server.address() as { port: number }).port,
    close: async () => {
      await drain(server);
      await close();
    },
  };
}
