import 'reflect-metadata';
import { Container } from '@ambit/container';
import { hasPostgres, openSchema } from '@ambit/test-kit';
import { APPLICATION_CONTAINER } from '@ambit/nest';
import { type Sandbox, sandbox } from '@ambit/transaction/testing';
import type { IDatabasePool } from '@ambit/transaction';
import type { INestApplication } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AppModule } from '../app.js';
import { type Config, createGraph, openPool } from '../graph.js';
import { Mailer } from '../orders.js';

const SQLITE: Config = { databaseUrl: undefined, file: ':memory:' };

const containerOver = (config: Config, pool: IDatabasePool): Container =>
  new Container({ tags: ['application'] }).addRegistration(...createGraph(config, pool).registrations);

describe.each([
  ['SQLite', 'Express', () => new ExpressAdapter()],
  ['SQLite', 'Fastify', () => new FastifyAdapter()],
  ['PostgreSQL', 'Express', () => new ExpressAdapter()],
  ['PostgreSQL', 'Fastify', () => new FastifyAdapter()],
] as const)('orders with %s, on %s', (database, _platform, adapter) => {
  describe.skipIf(database === 'PostgreSQL' && !hasPostgres)('in a sandbox', () => {
    let config: Config;
    let pool: IDatabasePool;
    let drop: () => Promise<unknown>;
    let box: Sandbox;
    let app: INestApplication;

    beforeAll(async () => {
      const schema = database === 'PostgreSQL' ? await openSchema() : undefined;
      config = schema ? { databaseUrl: schema.url(), file: '' } : SQLITE;
      pool = openPool(config);
      drop = async () => schema?.drop();
      // Creates the tables, which all tests share.
      await containerOver(config, pool).start();
    });
    afterAll(async () => {
      await pool.close();
      await drop();
    });

    beforeEach(async () => {
      box = await sandbox(pool);
      const testing = Test.createTestingModule({ imports: [AppModule.with(SQLITE)] })
        .overrideProvider(APPLICATION_CONTAINER)
        .useValue(containerOver(config, box));
      app = (await testing.compile()).createNestApplication(adapter(), { logger: false });
      await app.listen(0, '127.0.0.1');
    });
    afterEach(async () => {
      await app.close();
      await box.close();
    });

    const send = async (method: string, body?: unknown, headers: Record<string, string> = {}) => {
      const response = await fetch(`${await app.getUrl()}/orders`, {
        method,
        headers: { authorization: 'Bearer ada-token', 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.json(), headers: response.headers };
    };
    const apples = (quantity: number) => ({ product: 'apple', quantity });
    const level = async (): Promise<unknown> => (await box.query('SELECT level FROM stock'))[0]?.['level'];

    it('are stored with their stock, and mailed after COMMIT', async () => {
      const placed = await send('POST', apples(4));
      expect(placed).toMatchObject({ status: 201, body: apples(4) });
      expect((await send('GET')).body).toEqual([placed.body]);
      expect(await level()).toBe(6);
      expect(app.get(Mailer).sent).toEqual(['to Ada: 4 apple']);
    });

    it('beyond the stock are rolled back, and nobody is mailed', async () => {
      expect(await send('POST', apples(11))).toMatchObject({
        status: 409,
        body: { message: 'There is not enough apple in stock' },
      });
      expect((await send('GET')).body).toEqual([]);
      expect(await level()).toBe(10);
      expect(app.get(Mailer).sent).toEqual([]);
    });

    it('with an Idempotency-Key are placed once', async () => {
      const headers = { 'idempotency-key': 'order-1' };
      const first = await send('POST', apples(1), headers);
      const again = await send('POST', apples(1), headers);
      expect(again).toMatchObject({ status: 201, body: first.body });
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      expect((await send('POST', apples(2), headers)).status).toBe(422);
      expect(await level()).toBe(9);
      expect(app.get(Mailer).sent).toHaveLength(1);
    });

    it.each([
      [{ product: 'apple' }, 400],
      [{ product: '', quantity: 1 }, 400],
    ])('that are %j are refused', async (body, status) => {
      expect((await send('POST', body)).status).toBe(status);
    });

    it('are those of the caller, who has to be known', async () => {
      await send('POST', apples(1));
      expect((await send('GET', undefined, { authorization: 'Bearer bob-token' })).body).toEqual([]);
      expect((await send('GET', undefined, { authorization: 'Bearer nobody' })).status).toBe(401);
    });
  });
});
