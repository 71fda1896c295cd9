import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { Container } from '@ambit/container';
import { expectNoOpenScopes } from '@ambit/container/tools';
import type { IConnection } from '@ambit/transaction';
import { type FakeFault, FakePool, type FakePoolOptions } from '@ambit/transaction/testing';
import express, { type ErrorRequestHandler, type Express, type Request } from 'express';
import { expect, onTestFinished, vi } from 'vitest';
import { containerMiddleware, type ContainerMiddlewareOptions } from '../../src/index.js';

/** An application with a request scope for everything, on a database that fails where the test says so. */
export function application(options: { pool?: FakePoolOptions; scope?: ContainerMiddlewareOptions } = {}) {
  const pool = new FakePool(options.pool);
  const container = new Container({ tags: ['application'] });
  container.register('IDatabasePool', () => pool);
  const app = express();
  app.disable('x-powered-by');
  app.use(containerMiddleware(container, options.scope));
  return { app, container, pool };
}

/** What the application knows of errors: their text, and their status if they have one. */
export const respondToError: ErrorRequestHandler = (error: Error & { status?: number }, _req, res, _next) => {
  res.status(error.status ?? 500).json({ error: error.message });
};

/** Writes in the transaction of the request. */
export async function store(req: Request, text: string): Promise<void> {
  await req.transactionScope?.resolve<IConnection>('IConnection').query(text);
}

/** Serves until the test is finished. */
export async function serve(app: Express) {
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  onTestFinished(close);
  return {
    server,
    close,
    port,
    fetch: (path: string, init?: RequestInit) =>
      fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', ...init }),
    post: (path: string) => fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', redirect: 'manual' }),
    socket: async (): Promise<Socket> => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
  };
}

/** Nothing is left of any request: no scope, no connection, no offence against the database. */
export async function expectAllEnded({ container, pool }: { container: Container; pool: FakePool }): Promise<void> {
  await pool.close();
  // A scope that holds a transaction is disposed last.
  await vi.waitFor(() => expectNoOpenScopes(container), { interval: 1, timeout: 120_000 });
  expect(pool.violations).toEqual([]);
}

export const POST = 'POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 0\r\n\r\n';
export const GET = 'GET / HTTP/1.1\r\nhost: test\r\n\r\n';

/** A database on which one thing fails. */
export const fails = (at: string, kind: FakeFault['kind'] = 'refused') => ({
  faultAt: (point: string): FakeFault => ({ ms: 0, kind: point === at ? kind : 'none' }),
});
