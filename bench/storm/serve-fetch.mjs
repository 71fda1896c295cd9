import { once } from 'node:events';
import { serve } from '@hono/node-server';

/** Gives the port of a server for a function of a `Request`: what Bun and Deno have of their own, and Hono's on Node. */
export async function serveFetch(fetch) {
  const { Bun, Deno } = globalThis;
  const hostname = '127.0.0.1';
  if (Bun) return Bun.serve({ port: 0, hostname, idleTimeout: 0, fetch }).port;
  if (Deno) return Deno.serve({ port: 0, hostname, onListen: () => undefined }, fetch).addr.port;
  const server = serve({ fetch, port: 0, hostname });
  await once(server, 'listening');
  return server.address().port;
}
