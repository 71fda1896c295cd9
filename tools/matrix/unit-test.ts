import { currentScope } from '@ambit/container';
import { Transactional } from '@ambit/nest';
import { transactionCheck } from '@ambit/transaction/check';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { Body, Controller, Injectable, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';

@Injectable()
class OrdersService {
  // Without `strictNullChecks` the scope has a type all the same.
  async place(product: string): Promise<object> {
    return { product, mail: currentScope(undefined)?.resolve<string>('IMail') ?? 'none' };
  }
}

@Controller('orders')
class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @Transactional()
  place(@Body() product: string): Promise<object> {
    return this.orders.place(product);
  }
}

it('a unit test calls a handler with @Transactional() without a scope', async () => {
  const providers = [OrdersService];
  const module = await Test.createTestingModule({ controllers: [OrdersController], providers }).compile();
  expect(await module.get(OrdersController).place('pen')).toEqual({ product: 'pen', mail: 'none' });
  // `pg` is found without `esModuleInterop`.
  const pool = createPostgresPool({ connectionString: 'postgres://127.0.0.1/shop' });
  // The check reads the stacks of code that was compiled.
  await transactionCheck({ enabled: true }).pool(pool).close();
});
