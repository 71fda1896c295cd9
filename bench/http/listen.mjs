import { once } from 'node:events';
import { serve } from '@hono/node-server';

/** Gives the address of a server, or of an Express application, that listens on any free port. */
export async function listen(app) {
  const server = app.listen(0);
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}`;
}

export async function listenOnHono(app) {
  const server = serve({ fetch: app.fetch, port: 0 });
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}`;
}

/** What an application on plain `node:http` writes by itself. */
export function sendJson(res, body) {
  const text = JSON.stringify(body);
  res.setHeader('content-type', 'application/json');
  res.setHeader('content-length', Buffer.byteLength(text));
  res.end(text);
}
