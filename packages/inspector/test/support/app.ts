import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Container, hasTag, MetadataInjector, Registration, scope, singleton } from '@ambit/container';
import type { ScopeDeclaration } from '@ambit/container/tools';
import type { IConnection } from '@ambit/transaction';
import { FakePool } from '@ambit/transaction/testing';
import { containerMiddleware, drain } from '@ambit/express';
import { containerPlugin } from '@ambit/fastify';
import express from 'express';
import { fastify } from 'fastify';
import { inspectorMiddleware } from '../../src/express.js';
import { inspectorPlugin } from '../../src/fastify.js';
import type { InspectorOptions } from '../../src/index.js';

/** A handler returns the status to respond with, if it is not 200 and the handler has sent no headers. */
export type Routes = Readonly<Record<string, (scope: Container, response: ServerResponse) => unknown>>;

export interface RunningApp {
  readonly url: string;
  readonly port: number;
  /** The response of the inspector for one of its tools. */
  read<T>(name: string): Promise<T>;
  close(): Promise<void>;
}

export interface Host {
  readonly name: 'Express' | 'Fastify';
  start(options: InspectorOptions, routes: Routes, port?: number): Promise<RunningApp>;
}

const statusOf = (result: unknown): number => (typeof result === 'number' ? result : 200);

const running = (server: Server, close: () => Promise<void>): RunningApp => {
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const read = async <T>(name: string): Promise<T> => (await (await fetch(`${url}/inspector/${name}`)).json()) as T;
  return { url, port, read, close };
};

const expressHost: Host = {
  name: 'Express',
  start: async (options, routes, port = 0) => {
    const app = express();
    app.use(inspectorMiddleware(options), containerMiddleware(options.container));
    for (const [path, handle] of Object.entries(routes))
      app.get(`${path}/:id`, async (req, res) => {
        const result = await handle(req.container as Container, res);
        if (!res.headersSent) res.sendStatus(statusOf(result));
      });
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
        const status = statusOf(await handle(request.container as Container, reply.raw));
        return reply.raw.headersSent ? reply.hijack() : reply.code(status).send(String(status));
      });
    }
    await app.listen({ port, host: '127.0.0.1' });
    return running(app.server, () => app.close());
  },
};

export const hosts: readonly Host[] = [expressHost, fastifyHost];

export const TOKEN = 'a token that is long enough';
export const SCOPES: ScopeDeclaration = {
  tags: ['request'],
  scopes: [{ tags: ['transaction'], registers: ['IConnection'] }],
};

/** A small application: users for each request, orders for each transaction, and a pool for all, which refuses each statement. */
export function createApp(): Container {
  const openPool = () =>
    new FakePool({ faultAt: (point) => ({ ms: 0, kind: point === 'query' ? 'refused' : 'none' }) });
  const users = Registration.fromFactory(
    (pool, secret) => ({ pool, secret, dispose: () => undefined }),
    ['IDatabasePool', 'ISecret'],
  );
  const orders = Registration.fromFactory((connection) => ({ connection }), ['IConnection']);
  return new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
    Registration.fromValue('a value nobody may see').to('ISecret'),
    Registration.fromFactory(openPool).pipe(singleton()).to('IDatabasePool'),
    users.pipe(singleton(), scope(hasTag('request'))).to('IUsers'),
    orders.pipe(singleton(), scope(hasTag('transaction'))).to('IOrders'),
  );
}

/** A statement of another file than its caller. */
export async function storeOrder(connection: IConnection): Promise<void> {
  await connection.query("INSERT INTO orders VALUES ($1, 'a secret')");
}
