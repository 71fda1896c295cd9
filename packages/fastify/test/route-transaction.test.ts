import { Container, currentScope, Registration } from '@ambit/container';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { fastify, type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { containerPlugin, requireTransactionScope, transactionPlugin } from '../src/index.js';

describe('a route with config: { transaction } that no plugin sees', () => {
  test.each([
    ['was added before the plugin', true],
    ['has no plugin', false],
  ])('fails at start, because it %s', async (_name, registers) => {
    const app = fastify();
    await app.register(containerPlugin, { container: new Container({ tags: ['application'] }) });
    app.post('/orders', { config: { transaction: true } }, () => ({}));
    if (registers) await app.register(transactionPlugin);
    await expect(app.ready()).rejects.toMatchObject({
      code: 'AMBIT_OPTION',
      message: expect.stringContaining('POST /orders has config.transaction'),
    });
    await app.close();
  });

  test('of a plugin within is seen', async () => {
    const app = fastify();
    await app.register(containerPlugin, { container: new Container({ tags: ['application'] }) });
    await app.register(async (inner) => {
      await inner.register(transactionPlugin);
      inner.get('/orders', { config: { transaction: true } }, () => ({}));
    });
    await expect(app.ready()).resolves.toBe(app);
    await app.close();
  });
});

describe('a route with config: { transaction }', () => {
  let app: FastifyInstance;
  let pool: IDatabasePool;

  const insert = (request: Parameters<typeof requireTransactionScope>[0]): Promise<unknown> =>
    requireTransactionScope(request).resolve<IConnection>('IConnection').query('INSERT INTO orders (id) VALUES (1)');
  const stored = async (): Promise<number> => (await pool.query('SELECT id FROM orders')).length;
  const place = (path = '/orders'): Promise<{ statusCode: number; body: string }> =>
    app.inject({ method: 'POST', url: path, payload: {} });

  beforeEach(async () => {
    pool = createSqlitePool({ path: ':memory:' });
    await pool.query('CREATE TABLE orders (id INTEGER PRIMARY KEY)');
    const container = new Container({ tags: ['application'] });
    container.addRegistration(Registration.fromValue(pool).to('IDatabasePool'));
    app = fastify();
    await app.register(containerPlugin, { container, current: true });
    await app.register(transactionPlugin);
  });

  afterEach(async () => {
    await app.close();
    await pool.close();
  });

  test.each([
    [409, 201, 0],
    [500, 200, 0],
    [201, 500, 1],
  ])('that sent %i and then sets %i gets the first, which decided', async (first, second, rows) => {
    const rollbackOn = (status: number): boolean => status >= 400;
    app.post('/orders', { config: { transaction: { rollbackOn } } }, async (request, reply) => {
      await insert(request);
      void reply.code(first).send({ first });
      return reply.code(second).send({ second });
    });
    expect(await place()).toMatchObject({ statusCode: first, body: JSON.stringify({ first }) });
    expect(await stored()).toBe(rows);
  });

  test('begins behind validation and the other hooks of the route, so what they refuse takes no connection', async () => {
    const scopes: unknown[] = [];
    const schema = { body: { type: 'object', required: ['product'] } };
    const preHandler = [async (request: { transactionScope?: unknown }) => void scopes.push(request.transactionScope)];
    app.post('/orders', { config: { transaction: true }, preHandler }, async (request) => void (await insert(request)));
    app.post('/checked', { config: { transaction: true }, schema }, async (request) => void (await insert(request)));
    expect((await place('/checked')).statusCode).toBe(400);
    expect((await place()).statusCode).toBe(200);
    expect(scopes).toEqual([undefined]);
    expect(await stored()).toBe(1);
  });

  test('rolls back for a response that does not fit its schema', async () => {
    const schema = { response: { 200: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } } } };
    app.post('/orders', { config: { transaction: true }, schema }, async (request) => {
      await insert(request);
      return {};
    });
    expect((await place()).statusCode).toBe(500);
    expect(await stored()).toBe(0);
  });

  test('of a router rolls back for a status that its plugin names, and the route does not', async () => {
    const refuses = (status: number): boolean => status >= 400;
    await app.register(async (router) => {
      await router.register(transactionPlugin, { rollbackOn: refuses });
      for (const [path, transaction] of [
        ['/of-router', true],
        ['/of-route', { rollbackOn: () => false }],
      ] as const)
        router.post(path, { config: { transaction } }, async (request, reply) => {
          await insert(request);
          return reply.code(409).send({});
        });
    });
    expect([(await place('/of-router')).statusCode, await stored()]).toEqual([409, 0]);
    expect([(await place('/of-route')).statusCode, await stored()]).toEqual([409, 1]);
  });

  test('its scope is currentScope() in the handler, and the request scope in the error handler', async () => {
    const seen: unknown[] = [];
    app.setErrorHandler((_error, request, reply) => {
      seen.push(currentScope() === request.container);
      return reply.code(500).send({});
    });
    app.post('/orders', { config: { transaction: true } }, async (request) => {
      await insert(request);
      seen.push(currentScope() === request.transactionScope);
      throw new Error('secret');
    });
    await place();
    expect(seen).toEqual([true, true]);
  });

  test('a handler that closes the transaction by itself has its say', async () => {
    app.post('/orders', { config: { transaction: true } }, async (request) => {
      await insert(request);
      await request.rollbackTransaction();
      return { undone: true };
    });
    expect((await place()).body).toBe('{"undone":true}');
    expect(await stored()).toBe(0);
  });

  test('GET and the HEAD route that Fastify adds begin one transaction each', async () => {
    let handled = 0;
    app.get('/orders', { config: { transaction: { readOnly: true } } }, async (request) => {
      handled += 1;
      return { open: requireTransactionScope(request) !== undefined };
    });
    expect((await app.inject('/orders')).body).toBe('{"open":true}');
    expect((await app.inject({ method: 'HEAD', url: '/orders' })).statusCode).toBe(200);
    expect(handled).toBe(2);
  });

  test.each<[options: object, code: string]>([
    [{ isolation: 'snapshot' }, 'AMBIT_OPTION'],
    [{ timeoutMs: -1 }, 'AMBIT_OPTION'],
    [{ onError: 'log' }, 'AMBIT_OPTION'],
    [{ rollbackOn: 5 }, 'AMBIT_OPTION'],
  ])('%o of a route, and of the plugin, is refused before the first request', async (options, code) => {
    const refused = expect.objectContaining({ code }) as Error;
    expect(() => app.get('/', { config: { transaction: options } }, () => ({}))).toThrow(refused);
    const server = fastify();
    await server.register(containerPlugin, { container: new Container({ tags: ['application'] }) });
    await expect(async () => server.register(transactionPlugin, options)).rejects.toMatchObject(refused);
  });
});
