import { APPLICATION_CONTAINER, InjectScoped, Transactional } from '@ambit/nest';
import type { DatabasePool, IConnection } from '@ambit/transaction';
import { type Sandbox, sandbox } from '@ambit/transaction/testing';
import { Controller, type INestApplication, Param, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { containerWith, openDatabase, PLATFORMS, rootModule, serve } from './support/app.js';

@Controller('orders')
class Orders {
  @Post(':id')
  @Transactional()
  async place(@Param('id') id: string, @InjectScoped('IConnection') connection: IConnection): Promise<object> {
    await connection.query('INSERT INTO orders (id) VALUES ($1)', [id]);
    return { id };
  }
}

let pool: DatabasePool;
let box: Sandbox;
let stored: () => Promise<string[]>;
let app: INestApplication;
beforeEach(async () => {
  ({ pool, stored } = await openDatabase());
  box = await sandbox(pool);
});
afterEach(async () => {
  await box.close();
  await pool.close();
});

describe.each(PLATFORMS)('Test.createTestingModule() on $platform', ({ adapter }) => {
  it('runs the application in a sandbox, in place of its own container', async () => {
    const root = rootModule({ container: containerWith(pool) }, { controllers: [Orders] });
    const testing = Test.createTestingModule({ imports: [root] })
      .overrideProvider(APPLICATION_CONTAINER)
      .useValue(containerWith(box));
    app = (await testing.compile()).createNestApplication(adapter(), { logger: false });
    const send = await serve(app);
    expect(await send('POST', '/orders/apple')).toMatchObject({ status: 201, body: { id: 'apple' } });
    expect((await send('POST', '/orders/apple')).status).toBe(500);
    expect(await box.query('SELECT id FROM orders')).toEqual([{ id: 'apple' }]);
    await app.close();
    await box.close();
    expect(await stored()).toEqual([]);
  });
});

it('serves what inject() sends, without a connection', async () => {
  const root = rootModule({ container: containerWith(pool) }, { controllers: [Orders] });
  const testing = await Test.createTestingModule({ imports: [root] }).compile();
  app = testing.createNestApplication(PLATFORMS[1].adapter(), { logger: false });
  await box.close();
  await app.init();
  interface Injects {
    inject(request: { method: string; url: string }): Promise<{ statusCode: number; body: string }>;
  }
  const fastify = app.getHttpAdapter().getInstance() as Injects & { ready(): Promise<void> };
  await fastify.ready();
  expect(await fastify.inject({ method: 'POST', url: '/orders/apple' })).toMatchObject({ statusCode: 201 });
  expect(await fastify.inject({ method: 'POST', url: '/orders/apple' })).toMatchObject({ statusCode: 500 });
  await app.close();
  expect(await stored()).toEqual(['apple']);
});

it('a unit test that calls a transactional method outside of a scope learns how to', async () => {
  const refused = {
    code: 'AMBIT_NO_SCOPE',
    message: expect.stringMatching(/place\(\).*: put @InScope\(\).*@ambit\/nest\/testing/s) as string,
  };
  await expect(new Orders().place('apple', undefined as never)).rejects.toMatchObject(refused);
});
