import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { Container, Registration } from '@ambit/container';
import { containerMiddleware, withTransaction, type WithTransactionOptions } from '@ambit/express';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import {
  BadRequestException,
  Controller,
  type INestApplication,
  Inject,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  Param,
  Post,
  Req,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DATABASES, type TestDatabase } from '../libraries/databases.js';

interface RequestWithTransaction {
  readonly transactionScope: Container;
}

@Controller('orders')
class OrdersController {
  @Post(':outcome')
  async place(@Req() request: RequestWithTransaction, @Param('outcome') outcome: string): Promise<object> {
    const connection = request.transactionScope.resolve<IConnection>('IConnection');
    await connection.query('INSERT INTO orders (id) VALUES ($1)', [outcome]);
    if (outcome === 'fails') throw new Error('secret');
    if (outcome === 'refuses') throw new BadRequestException('no such product');
    return { outcome };
  }
}

@Module({ controllers: [OrdersController] })
class OrdersModule implements NestModule {
  constructor(
    @Inject('container') private readonly container: Container,
    @Inject('options') private readonly options: WithTransactionOptions,
  ) {}

  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(containerMiddleware(this.container), withTransaction(this.options)).forRoutes(OrdersController);
  }

  static with(container: Container, options: WithTransactionOptions) {
    const providers = [
      { provide: 'container', useValue: container },
      { provide: 'options', useValue: options },
    ];
    return { module: OrdersModule, providers };
  }
}

describe.each(Object.entries(DATABASES))('NestJS on Express with %s', (_name, open) => {
  let database: TestDatabase;
  let app: INestApplication;

  beforeAll(async () => {
    database = await open();
    await database.pool.query('CREATE TABLE orders (id TEXT PRIMARY KEY)');
  });
  beforeEach(() => database.pool.query('DELETE FROM orders'));
  afterEach(() => app.close());
  afterAll(() => database.drop());

  async function order(outcome: string, options: WithTransactionOptions = {}): Promise<object> {
    const container = new Container({ tags: ['application'] });
    container.addRegistration(Registration.fromValue<IDatabasePool>(database.pool).to('IDatabasePool'));
    app = await NestFactory.create(OrdersModule.with(container, options), { logger: false });
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/orders/${outcome}`, { method: 'POST' });
    await response.text();
    const stored = await database.pool.query<{ id: string }>('SELECT id FROM orders');
    return { status: response.status, stored: stored.map(({ id }) => id) };
  }

  it('commits what a handler returns', async () => {
    expect(await order('succeeds')).toEqual({ status: 201, stored: ['succeeds'] });
  });

  it('rolls back a handler that throws, though the exception layer of NestJS responds to it', async () => {
    expect(await order('fails')).toEqual({ status: 500, stored: [] });
  });

  it('rolls back an exception below 500 where rollbackOn says so', async () => {
    const rollbackOn = (status: number): boolean => status >= 400;
    expect(await order('refuses', { rollbackOn })).toEqual({ status: 400, stored: [] });
  });
});
