import { currentScope } from '@ambit/container';
import { InjectScoped, Transactional } from '@ambit/nest';
import type { DatabasePool, IConnection } from '@ambit/transaction';
import { Controller, Get, type INestApplication, type INestMicroservice, UseInterceptors } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  type ClientProxy,
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  Payload,
  RpcException,
  Transport,
} from '@nestjs/microservices';
import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { catchError, firstValueFrom, from, lastValueFrom, map, type Observable, of, retry, toArray } from 'rxjs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { containerWith, create, openDatabase, PLATFORMS, QUIET, rootModule, serve } from './support/app.js';

let disposed = 0;

@Controller()
class Orders {
  constructor(@InjectScoped('IConnection') private readonly connection: IConnection) {}

  @MessagePattern('scope')
  scope(@InjectScoped('ICounter') counter: { next(): number }): number {
    return counter.next() + counter.next();
  }

  @MessagePattern('stream')
  stream(@Payload() length: number, @InjectScoped('ICounter') counter: { next(): number }): Observable<number> {
    return from(Array.from({ length }, (_, i) => i)).pipe(map(() => counter.next()));
  }

  @MessagePattern('place')
  @Transactional()
  async place(@Payload() id: string): Promise<string> {
    await this.connection.query('INSERT INTO orders (id) VALUES ($1)', [id]);
    if (id === 'fails') throw new RpcException('no');
    return id;
  }

  @MessagePattern('caught')
  @UseInterceptors({ intercept: (_context, next) => next.handle().pipe(catchError(() => of('caught'))) })
  @Transactional()
  async caught(@Payload() id: string): Promise<string> {
    return this.place(id);
  }

  @MessagePattern('retried')
  @UseInterceptors({ intercept: (_context, next) => next.handle().pipe(catchError(() => of('caught'))) })
  @Transactional({ retries: 1 })
  async retried(): Promise<never> {
    void pool.close();
    throw Object.assign(new Error('serialization failure'), { code: '40001' });
  }

  @MessagePattern('repeated')
  @UseInterceptors({ intercept: (_context, next) => next.handle().pipe(retry()) })
  @Transactional()
  async repeated(@Payload() id: string): Promise<string> {
    return this.place(id);
  }

  @EventPattern('placed')
  @Transactional()
  async placed(@Payload() id: string): Promise<void> {
    await this.place(id);
  }

  @MessagePattern('place-observable')
  @Transactional()
  placeObservable(@Payload() id: string): Observable<string> {
    return from(this.place(id));
  }

  @MessagePattern('no-pool')
  async noPool(): Promise<unknown> {
    return currentScope().resolve('INothing');
  }

  @Get('ping')
  ping(): string {
    return 'pong';
  }
}
Reflect.defineMetadata('design:paramtypes', [Object], Orders);

let pool: DatabasePool;
let stored: () => Promise<string[]>;
let app: INestApplication | INestMicroservice;
let client: ClientProxy;

const rootOf = (): new () => object => {
  disposed = 0;
  const container = containerWith(pool, {
    ICounter: () => {
      let count = 0;
      return { next: () => (count += 1), dispose: () => void (disposed += 1) };
    },
  });
  return rootModule({ container }, { controllers: [Orders] });
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const call = <T>(pattern: string, data: unknown = ''): Promise<T> => firstValueFrom(client.send<T>(pattern, data));

beforeEach(async () => ({ pool, stored } = await openDatabase()));
afterEach(async () => {
  client.close();
  await app.close();
  await pool.close();
});

async function listenAsMicroservice(): Promise<void> {
  const options = { host: '127.0.0.1', port: await freePort() };
  const service = await NestFactory.createMicroservice(rootOf(), { transport: Transport.TCP, options, ...QUIET });
  app = service;
  await service.listen();
  client = ClientProxyFactory.create({ transport: Transport.TCP, options });
}

it('a message over TCP has a scope, which is disposed with it', async () => {
  await listenAsMicroservice();
  expect(await call('scope')).toBe(3);
  expect(await call('scope')).toBe(3);
  await vi.waitFor(() => expect(disposed).toBe(2), 120_000);
});

it('a handler may stream its results within its scope', async () => {
  await listenAsMicroservice();
  expect(await lastValueFrom(client.send<number>('stream', 3).pipe(toArray()))).toEqual([1, 2, 3]);
  await vi.waitFor(() => expect(disposed).toBe(1), 120_000);
});

it('a handler with @Transactional() responds after COMMIT, and rolls back what it throws', async () => {
  await listenAsMicroservice();
  expect(await call('place', 'apple')).toBe('apple');
  expect(await stored()).toEqual(['apple']);
  await expect(call('place', 'fails')).rejects.toMatchObject({ message: 'no' });
  expect(await call('place-observable', 'pear')).toBe('pear');
  await expect(call('place-observable', 'fails')).rejects.toMatchObject({ message: 'no' });
  expect(await stored()).toEqual(['apple', 'pear']);
});

it('a handler that has failed is rolled back, whatever its interceptors make of that', async () => {
  await listenAsMicroservice();
  expect(await call('caught', 'fails')).toBe('caught');
  const refused = 'Internal server error [AMBIT_TX_FINISHED]';
  await expect(call('repeated', 'fails')).rejects.toMatchObject({ message: refused });
  expect(await stored()).toEqual([]);
  expect(await call('caught', 'apple')).toBe('apple');
  expect(await stored()).toEqual(['apple']);
});

it('an attempt that cannot begin sends nothing that interceptors made of the failure before it', async () => {
  await listenAsMicroservice();
  await expect(call('retried')).rejects.toMatchObject({
    message: expect.stringContaining('AMBIT_TX_POOL_CLOSED') as string,
  });
});

it('an event is handled in a transaction', async () => {
  await listenAsMicroservice();
  await lastValueFrom(client.emit('placed', 'fails'), { defaultValue: undefined });
  await lastValueFrom(client.emit('placed', 'apple'), { defaultValue: undefined });
  await vi.waitFor(async () => expect(await stored()).toEqual(['apple']), 120_000);
});

it('an error of ours says what happened', async () => {
  await listenAsMicroservice();
  await pool.close();
  await expect(call('place', 'apple')).rejects.toMatchObject({
    status: 'error',
    message: expect.stringContaining('AMBIT_TX_POOL_CLOSED') as string,
  });
});

const hybrid = async (inheritAppConfig: boolean): Promise<ReturnType<typeof serve>> => {
  const options = { host: '127.0.0.1', port: await freePort() };
  const made = await create(rootOf(), PLATFORMS[0].adapter);
  app = made;
  made.connectMicroservice({ transport: Transport.TCP, options }, { inheritAppConfig });
  await made.startAllMicroservices();
  client = ClientProxyFactory.create({ transport: Transport.TCP, options });
  return serve(made);
};

it('a hybrid application serves both, with inheritAppConfig', async () => {
  const send = await hybrid(true);
  expect((await send('GET', '/ping')).body).toBe('pong');
  expect(await call('place', 'apple')).toBe('apple');
  expect(await stored()).toEqual(['apple']);
});

it('a hybrid application without inheritAppConfig fails the message instead of writing outside of a transaction', async () => {
  await hybrid(false);
  await expect(call('place', 'apple')).rejects.toMatchObject({ message: 'Internal server error' });
  expect(await stored()).toEqual([]);
});
