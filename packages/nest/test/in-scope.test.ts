import { type Container, currentScope } from '@ambit/container';
import { InjectScoped, InScope, Transactional } from '@ambit/nest';
import type { DatabasePool, IConnection } from '@ambit/transaction';
import { type INestApplicationContext, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MessagePattern } from '@nestjs/microservices';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { containerWith, openDatabase, QUIET, rootModule } from './support/app.js';

let disposed: unknown[];
let goOn: () => void;

@Injectable()
class Jobs {
  @InjectScoped('IConnection') private readonly connection!: IConnection;
  @InjectScoped('ICounter') private readonly counter!: { next(): number };

  @InScope()
  async count(): Promise<object> {
    await Promise.resolve();
    return {
      counts: [this.counter.next(), this.counter.next()],
      isRequest: (currentScope() as Container).hasTag('request'),
    };
  }

  @InScope()
  @Transactional()
  async place(id: string): Promise<string> {
    await this.connection.query('INSERT INTO orders (id) VALUES ($1)', [id]);
    if (id === 'fails') throw new Error(id);
    return id;
  }

  @InScope()
  wait(): Promise<void> {
    return new Promise((resolve) => (goOn = resolve));
  }
}

let pool: DatabasePool;
let stored: () => Promise<string[]>;
let app: INestApplicationContext;
let jobs: Jobs;
beforeEach(async () => {
  ({ pool, stored } = await openDatabase());
  disposed = [];
  const container = containerWith(pool, {
    ICounter: () => {
      let count = 0;
      return { next: () => (count += 1), dispose: (reason: unknown) => void disposed.push(reason) };
    },
  });
  // Without a server, as a command or a worker is started.
  app = await NestFactory.createApplicationContext(rootModule({ container }, { providers: [Jobs] }), QUIET);
  jobs = app.get(Jobs);
});
afterEach(async () => {
  await app.close();
  await pool.close();
});

it('@InScope() gives each call a scope of requests, which is disposed when its promise has settled', async () => {
  const result = { counts: [1, 2], isRequest: true };
  expect(await Promise.all([jobs.count(), jobs.count()])).toEqual([result, result]);
  expect(disposed).toHaveLength(2);
  expect(currentScope(undefined)).toBeUndefined();
});

it('a transaction in it commits what the method returns, and rolls back what it throws', async () => {
  expect(await jobs.place('apple')).toBe('apple');
  await expect(jobs.place('fails')).rejects.toThrow('fails');
  expect(await stored()).toEqual(['apple']);
});

it('app.close() waits for the work in progress, and refuses new work', async () => {
  const waiting = jobs.wait();
  const closed = vi.fn<() => void>();
  const closing = app.close().then(closed);
  await expect
    .poll(() => jobs.count().catch((error: unknown) => (error as { code: string }).code))
    .toBe('AMBIT_DRAINING');
  expect(closed).not.toHaveBeenCalled();
  goOn();
  await Promise.all([waiting, closing]);
});

it('of an instance that NestJS did not make says so', async () => {
  await expect(new Jobs().count()).rejects.toMatchObject({
    code: 'AMBIT_NO_SCOPE',
    message: expect.stringContaining('count() with @InScope()') as string,
  });
});

it('stands above @Transactional(), also that of the class', () => {
  const onMethod = (): unknown => {
    class Wrong {
      @Transactional()
      @InScope()
      async run(): Promise<void> {}
    }
    return Wrong;
  };
  const onClass = (): unknown => {
    @Transactional()
    class Wrong {
      @MessagePattern('run')
      @InScope()
      async run(): Promise<void> {}
    }
    return Wrong;
  };
  for (const define of [onMethod, onClass]) expect(define).toThrow(/run\(\) has to stand below @InScope\(\)/);
});

it('needs AmbitModule, which NestJS says where it is missing', async () => {
  @Injectable()
  class Job {
    @InScope()
    async run(): Promise<void> {}
  }
  @Module({ providers: [Job] })
  class RootModule {}
  await expect(NestFactory.createApplicationContext(RootModule, QUIET)).rejects.toThrow('AmbitModule.forRoot()');
});
