/**
 * The same small application on each framework, alone or with Ambit: `node lab/floods/apps.mjs express|fastify|hono|node bare|ambit`. It prints its
 * port, and is what `pieces.mjs` and `pipelining.mjs` attack. Bodies are read as the frameworks' own documentation reads them.
 */
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { serve } from '@hono/node-server';
import { Container } from '@ambit/container';
import { containerMiddleware as onExpress } from '@ambit/express';
import { containerPlugin } from '@ambit/fastify';
import { containerMiddleware as onHono } from '@ambit/hono';
import { createHandler } from '@ambit/http';
import express from 'express';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';

const [, , name = 'express', way = 'ambit'] = process.argv;
const container = way === 'ambit' ? new Container({ tags: ['application'] }) : undefined;
const TEXT = 'x'.repeat(2000);

/** Some work that is not done at once. */
const work = async () => {
  await new Promise(setImmediate);
  return TEXT;
};

/** @type {Record<string, () => Promise<number>>} */
const APPS = {
  express: () => {
    const app = express();
    if (container) app.use(onExpress(container));
    app.get('/live', (_req, res) => void res.send('live'));
    app.get('/work', async (_req, res) => void res.send(await work()));
    app.post('/echo', express.json(), (req, res) => void res.json({ length: JSON.stringify(req.body).length }));
    return listening(createServer(app));
  },
  fastify: async () => {
    const app = fastify({ bodyLimit: 100_000 });
    if (container) await app.register(containerPlugin, { container });
    app.get('/live', async () => 'live');
    app.get('/work', work);
    app.post('/echo', async (request) => ({ length: JSON.stringify(request.body).length }));
    return Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
  },
  hono: () => {
    const app = new Hono();
    if (container) app.use(onHono(container));
    app.get('/live', (c) => c.text('live'));
    app.get('/work', async (c) => c.text(await work()));
    app.post('/echo', bodyLimit({ maxSize: 100_000 }), async (c) =>
      c.json({ length: JSON.stringify(await c.req.json()).length }),
    );
    return new Promise((resolve) => {
      serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port));
    });
  },
  node: () => {
    /** @param {import('node:http').IncomingMessage} req @param {import('node:http').ServerResponse} res */
    const respond = async (req, res) => {
      if (req.url === '/live') res.end('live');
      else if (req.url === '/work') res.end(await work());
      else res.end(JSON.stringify({ length: JSON.stringify(await json(req)).length }));
    };
    return listening(
      createServer(container ? createHandler(container, respond) : (req, res) => void respond(req, res)),
    );
  },
};

/** @param {import('node:http').Server} server @returns {Promise<number>} */
function listening(server) {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(/** @type {import('node:net').AddressInfo} */ (server.address()).port));
  });
}

const port = await APPS[name]?.();
if (!port) throw new Error(`No such application: ${name}`);
console.log(JSON.stringify({ port }));
