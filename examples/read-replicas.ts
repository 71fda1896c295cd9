// Reads from replicas, on Express and on Fastify: a client reads what it has written, whichever instance serves it next.
import type { ServerResponse } from 'node:http';
import { Container, type IContainer, lifetimes } from '@ambit/container';
import { containerMiddleware, requireTransactionScope, resolve, withTransaction } from '@ambit/express';
import { containerPlugin, requireTransactionScope as scopeOf, transactionPlugin } from '@ambit/fastify';
import type { ReplicaSession, ReplicatedPool } from '@ambit/transaction/replicas';
import express, { type Express } from 'express';
import { fastify, type FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    reads: ReplicaSession | undefined;
  }
}

/** The client sends back what it has received last; a browser keeps it in a cookie. */
const TOKEN = 'x-read-after';

/** What has no request, such as a job, uses the pool itself, and reads what this process has written. */
function application(pool: ReplicatedPool): Container {
  const { make, build } = lifetimes('application', 'request', 'transaction');
  const graph = build({ IDatabasePool: make('application', () => pool) });
  return new Container({ tags: ['application'] }).addRegistration(...graph.registrations);
}

const place = (scope: IContainer, name: string): Promise<unknown> =>
  scope.resolve('IConnection').query('INSERT INTO orders (name) VALUES ($1)', [name]);

export function onExpress(pool: ReplicatedPool): { app: Express; container: Container } {
  const container = application(pool);
  const register = (scope: IContainer, req: express.Request): void => {
    const session = pool.session(req.get(TOKEN));
    scope.register('IDatabasePool', () => session);
    // The head is written after COMMIT, also where withTransaction() holds the response back until then.
    if (req.res) beforeHead(req.res, (res) => session.token && res.setHeader(TOKEN, session.token));
  };
  const app = express().use(containerMiddleware(container, { register }), express.json());
  app.post('/orders', withTransaction(), async (req, res) => {
    await place(requireTransactionScope(req), req.body.name);
    res.sendStatus(201);
  });
  app.get('/orders', async (req, res) => {
    res.json(await resolve(req, 'IDatabasePool').query('SELECT name FROM orders', [], { readOnly: true }));
  });
  return { app, container };
}

/** What the package `on-headers` does. */
function beforeHead<R extends ServerResponse>(res: R, fn: (res: R) => unknown): void {
  const writeHead = res.writeHead.bind(res) as (...args: unknown[]) => R;
  res.writeHead = (...args: unknown[]) => {
    fn(res);
    return writeHead(...args);
  };
}

export async function onFastify(pool: ReplicatedPool): Promise<FastifyInstance> {
  const server = fastify();
  server.decorateRequest('reads');
  await server.register(containerPlugin, {
    container: application(pool),
    register: (scope, request) => {
      const session = pool.session(request.headers[TOKEN]);
      scope.register('IDatabasePool', () => session);
      request.reads = session;
    },
  });
  await server.register(transactionPlugin);
  // Hooks of Fastify run before COMMIT, and the head is written after it.
  server.addHook('onRequest', async (request, reply) => {
    beforeHead(reply.raw, (res) => request.reads?.token && res.setHeader(TOKEN, request.reads.token));
  });
  server.post<{ Body: { name: string } }>('/orders', { config: { transaction: true } }, async (request, reply) => {
    await place(scopeOf(request), request.body.name);
    return reply.code(201).send();
  });
  server.get('/orders', (request) =>
    request.container.resolve('IDatabasePool').query('SELECT name FROM orders', [], { readOnly: true }),
  );
  return server;
}
