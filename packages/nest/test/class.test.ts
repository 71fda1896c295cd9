import { InjectScoped, Transactional } from '@ambit/nest';
import type { DatabasePool, IConnection } from '@ambit/transaction';
import { BadRequestException, Controller, Get, HttpCode, type INestApplication, Param, Post } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { containerWith, create, openDatabase, PLATFORMS, rootModule, serve } from './support/app.js';

abstract class Base {
  abstract insert(id: string): Promise<void>;

  @Post('inherited/:id')
  async inherited(@Param('id') id: string): Promise<void> {
    await this.insert(id);
    throw new BadRequestException('no');
  }
}

@Transactional()
@Controller('orders')
class Orders extends Base {
  @InjectScoped('IConnection') private readonly connection!: IConnection;

  @Post('own/:id')
  async own(@Param('id') id: string): Promise<void> {
    await this.insert(id);
    throw new BadRequestException('no');
  }

  @Get('read-only/:id')
  @Transactional({ readOnly: true })
  async readOnly(@Param('id') id: string): Promise<void> {
    await this.insert(id);
  }

  /** No handler: it is not wrapped. */
  async insert(id: string): Promise<void> {
    await this.connection.query('INSERT INTO orders (id) VALUES ($1)', [id]);
  }
}

@Transactional({ rollbackOn: (status) => status >= 400 })
@Controller('refusals')
class Refusals {
  @InjectScoped('IConnection') private readonly connection!: IConnection;

  @Post('own/:id')
  @HttpCode(409)
  @Transactional({ isolation: 'serializable', rollbackOn: () => false })
  own(@Param('id') id: string): Promise<void> {
    return this.insert(id);
  }

  @Post('of-class/:id')
  @HttpCode(409)
  @Transactional({ isolation: 'serializable' })
  ofClass(@Param('id') id: string): Promise<void> {
    return this.insert(id);
  }

  async insert(id: string): Promise<void> {
    await this.connection.query('INSERT INTO orders (id) VALUES ($1)', [id]);
  }
}

let pool: DatabasePool;
let stored: () => Promise<string[]>;
let app: INestApplication;
beforeEach(async () => ({ pool, stored } = await openDatabase()));
afterEach(async () => {
  await app.close();
  await pool.close();
});

describe.each(PLATFORMS)('@Transactional() of a controller on $platform', ({ adapter }) => {
  it('is meant for each of its handlers, also inherited ones, unless they have their own', async () => {
    app = await create(rootModule({ container: containerWith(pool) }, { controllers: [Orders] }), adapter);
    const send = await serve(app);
    expect((await send('POST', '/orders/own/a')).status).toBe(400);
    expect((await send('POST', '/orders/inherited/b')).status).toBe(400);
    expect((await send('GET', '/orders/read-only/c')).status).toBe(500);
    expect(await stored()).toEqual([]);
    expect(Base.prototype.inherited).not.toBe(Orders.prototype.inherited);
  });

  it('says for which statuses its handlers roll back, unless they say so themselves', async () => {
    const settings = { container: containerWith(pool), rollbackOn: () => false };
    app = await create(rootModule(settings, { controllers: [Refusals] }), adapter);
    const send = await serve(app);
    expect((await send('POST', '/refusals/of-class/a')).status).toBe(409);
    expect(await stored()).toEqual([]);
    expect((await send('POST', '/refusals/own/b')).status).toBe(409);
    expect(await stored()).toEqual(['b']);
  });
});
