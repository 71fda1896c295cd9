import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { channel } from 'node:diagnostics_channel';
import { Container, hasTag, MetadataInjector, Registration, scope, singleton } from '@ambit/container';
import type { ScopeDeclaration } from '@ambit/container/tools';
import { FakePool } from '@ambit/transaction/testing';
import { containerMiddleware, drain } from '@ambit/express';
import { containerPlugin } from '@ambit/fastify';
import express from 'express';
import { fastify } from 'fastify';
import { inspectorMiddleware } from '../../src/express.js';
import { inspectorPlugin } from '../../src/fastify.js';
import type { InspectorOptions } from '../../src/index.js';

/** Returns the status to respond with. */
type Handler = (scope: Container) => Promise<number> | number;
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
        res.sendStatus(await handle(req.container as Container));
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
        return reply.code(status).send(String(status));
      });
    }
    await app.listen({ port, host: '127.0.0.1' });
    return running(app.server, () => app.close());
  },
};

export const hosts: readonly Host[] = [expressHost, fastifyHost];

export const SCOPES: ScopeDeclaration = {
  tags: ['request'],
  scopes: [{ tags: ['transaction'], registers: ['IConnection'] }],
};

const inScope = (tag: string) => [singleton(), scope(hasTag(tag))] as const;

/** A small application: a pool for all, users for each request, orders for each transaction. */
export function createApp(): Container {
  return new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
    Registration.fromValue('a value nobody may see').to('ISecret'),
    Registration.fromFactory(() => new FakePool())
      .pipe(singleton())
      .to('IDatabasePool'),
    Registration.fromFactory(
      (pool, secret) => ({ pool, secret, dispose: () => undefined }),
      ['IDatabasePool', 'ISecret'],
    )
      .pipe(...inScope('request'))
      .to('IUsers'),
    Registration.fromFactory((connection) => ({ connection }), ['IConnection'])
      .pipe(...inScope('transaction'))
      .to('IOrders'),
  );
}

export const openRequest = (app: Container): Container => app.createScope({ tags: ['request'] });

/** Tells what a transaction tells, without a database. */
export async function placeOrder(request: Container, outcome: 'committed' | 'rolled back'): Promise<void> {
  const transaction = request.createScope({ tags: ['transaction'] });
  const tell = (name: string, message: object): void =>
    channel(`ambit:transaction:${name}`).publish({ scope: transaction, ...message });
  transaction.register<string>('IConnection', () => ({}));
  tell('acquired', { parent: request, milliseconds: 0 });
  tell('begun', { milliseconds: 0 });
  transaction.resolve('IOrders');
  const error = outcome === 'rolled back' ? Object.assign(new TypeError('of 4711'), { code: 'E_SOLD_OUT' }) : undefined;
  const failed = error && { error };
  tell('statement', { sql: "INSERT INTO orders VALUES ($1, 'a secret')", milliseconds: 0, ...failed });
  tell('finished', { outcome, milliseconds: 0, ...failed });
  await transaction.dispose();
}
