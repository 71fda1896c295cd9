import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { inspect } from 'node:util';
import { Container } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import type { IConnection } from '@ambit/transaction';
import { type FakeFault, FakePool, type FakePoolOptions, type FaultPoint } from '@ambit/transaction/testing';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { expect, onTestFinished, vi } from 'vitest';
import { containerPlugin, type ContainerPluginOptions, transactionPlugin } from '../../src/index.js';

/** What would have crashed a process of its own. */
const crashes: unknown[] = [];
process.on('uncaughtException', (error) => void crashes.push(error));
process.on('unhandledRejection', (error) => void crashes.push(error));

/** A server with both plugins, on a database that fails where the test says so. */
export async function application(
  options: {
    pool?: FakePoolOptions;
    plugin?: Partial<ContainerPluginOptions>;
    server?: FastifyInstance;
    before?: (app: FastifyInstance) => unknown;
    errorHandler?: (error: unknown, request: FastifyRequest, reply: FastifyReply) => unknown;
  } = {},
) {
  const pool = new FakePool(options.pool);
  const container = new Container({ tags: ['application'] });
  container.register('IDatabasePool', () => pool);
  const app = server(options.server);
  await options.before?.(app);
  await app.register(containerPlugin, { container, ...options.plugin });
  await app.register(transactionPlugin);
  if (options.errorHandler) app.setErrorHandler(options.errorHandler);
  return { app, container, pool };
}

/** A bare server that is closed after the test, which fails if an error would have crashed the process. */
export function server(app: FastifyInstance = fastify()): FastifyInstance {
  onTestFinished(async () => {
    app.server.closeAllConnections();
    await app.close();
    if (crashes.length > 0) throw new AggregateError(crashes.splice(0), 'The process would have crashed');
  });
  return app;
}

/** Writes in the transaction of the request. */
export async function store(request: FastifyRequest, text: string): Promise<void> {
  await request.transactionScope?.resolve<IConnection>('IConnection').query(text);
}

export async function serve(app: FastifyInstance) {
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  return {
    fetch: (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init),
    socket: async (): Promise<Socket> => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
  };
}

/** One request, as it goes over the wire. */
export function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`;
}

/** What requests have left behind once every connection is back in the pool: open scopes, offences against the database. */
export async function leftovers({ container, pool }: { container: Container; pool: FakePool }): Promise<string[]> {
  await pool.close();
  // A scope that holds a transaction is disposed last.
  await vi
    .waitUntil(() => openScopes(container).length === 0, { interval: 1, timeout: 120_000 })
    .catch(() => undefined);
  return [...openScopes(container).map((scope) => inspect(scope)), ...pool.violations];
}

/** The fate of the one step; all others go well. */
export const failing =
  (where: FaultPoint, kind: FakeFault['kind']) =>
  (point: FaultPoint): FakeFault => ({ ms: 0, kind: point === where ? kind : 'none' });

export type Made = Awaited<ReturnType<typeof application>>;

/** Sends a request that stores an order in a transaction and then does `work`; returns what the client and the database have of it. */
export async function order(
  work: (request: FastifyRequest, reply: FastifyReply, made: Made) => unknown,
  options: Parameters<typeof application>[0] = {},
) {
  const made = await application(options);
  made.app.post('/', async (request, reply) => {
    await request.startTransaction();
    await store(request, 'INSERT order');
    return work(request, reply, made);
  });
  const response = await made.app.inject({ method: 'POST', url: '/' });
  expect(await leftovers(made)).toEqual([]);
  return { response, stored: made.pool.stored };
}
