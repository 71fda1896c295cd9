/**
 * The same small application on each framework: `node lab/floods/apps.mjs express|fastify|hono`. It prints its port, and is what `pieces.mjs`
 * attacks. Bodies are read as the frameworks' own documentation reads them.
 */
import { once } from 'node:events';
import { serve } from '@hono/node-server';
import { Container } from '@ambit/container';
import { containerMiddleware as onExpress } from '@ambit/express';
import { containerPlugin } from '@ambit/fastify';
import { containerMiddleware as onHono } from '@ambit/hono';
import express from 'express';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';

const [, , name = 'express'] = process.argv;
const container = new Container({ tags: ['application'] });

/** @type {Record<string, () => Promise<number>>} */
const APPS = {
  express: async () => {
    const app = express();
    app.use(onExpress(container));
    app.get('/live', (_req, res) => void res.send('live'));
    app.post('/echo', express.json(), (req, res) => void res.json({ length: JSON.stringify(req.body).length }));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return /** @type {import('node:net').AddressInfo} */ (server.address()).port;
  },
  fastify: async () => {
    const app = fastify({ bodyLimit: 100_000 });
    await app.register(containerPlugin, { container });
    app.get('/live', async () => 'live');
    app.post('/echo', async (request) => ({ length: JSON.stringify(request.body).length }));
    return Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
  },
  hono: () => {
    const app = new Hono();
    app.use(onHono(container));
    app.get('/live', (c) => c.text('live'));
    app.post('/echo', bodyLimit({ maxSize: 100_000 }), async (c) =>
      c.json({ length: JSON.stringify(await c.req.json()).length }),
    );
    return new Promise((resolve) => {
      serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port));
    });
  },
};

const port = await APPS[name]?.();
if (!port) throw new Error(`No such application: ${name}`);
console.log(JSON.stringify({ port }));
