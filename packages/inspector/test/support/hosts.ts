import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Container } from '@ambit/container';
import { containerMiddleware, drain } from '@ambit/express';
import { containerPlugin } from '@ambit/fastify';
import express from 'express';
import { fastify } from 'fastify';
import { inspectorMiddleware } from '../../src/express.js';
import { inspectorPlugin } from '../../src/fastify.js';
import type { InspectorOptions } from '../../src/index.js';

/** Returns the status to respond with, or undefined: then the client gets no response. */
type Handler = (scope: Container) => Promise<number | undefined> | number | undefined;
export type Routes = Readonly<Record<string, Handler>>;

export interface RunningApp {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

export interface Host {
  readonly name: 'Express' | 'Fastify';
  start(options: InspectorOptions, routes: Routes, port?: number): Promise<RunningApp>;
}

const running = (server: Server, close: () => Promise<void>): RunningApp => {
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, close };
};

const expressHost: Host = {
  name: 'Express',
  start: async (options, routes, port = 0) => {
    const app = express();
    app.use(inspectorMiddleware(options), containerMiddleware(options.container));
    for (const [path, handle] of Object.entries(routes)) {
      const router = express.Router();
      router.get('/:id', async (req, res) => {
        const status = await handle(req.container as Container);
        if (status !== undefined) res.sendStatus(status);
      });
      app.use(path, router);
    }
    app.use(
      ({ status = 500 }: { status?: number }, _req: unknown, res: express.Response, _next: unknown) =>
        void res.sendStatus(status),
    );
    const server = app.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return running(server, async () => {
      await drain(server);
      await options.container.dispose();
    });
  },
};

const fastifyHost: Host = {
  name: 'Fastify',
  start: async (options, routes, port = 0) => {
    const app = fastify();
    await app.register(inspectorPlugin, options);
    await app.register(containerPlugin, { container: options.container });
    for (const [path, handle] of Object.entries(routes)) {
      app.get(`${path}/:id`, async (request, reply) => {
        const status = await handle(request.container as Container);
        if (status === undefined) return reply.hijack();
        return reply.code(status).send(String(status));
      });
    }
    await app.listen({ port, host: '127.0.0.1' });
    return running(app.server, () => app.close());
  },
};

export const hosts: readonly Host[] = [expressHost, fastifyHost];
