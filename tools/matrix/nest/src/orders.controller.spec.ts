import { createPostgresPool } from '@ambit/transaction/postgres';
import { Test } from '@nestjs/testing';
import { OrdersController, OrdersService } from './orders.controller';

it('a unit test calls a handler with @Transactional() without a scope', async () => {
  const providers = [OrdersService];
  const module = await Test.createTestingModule({ controllers: [OrdersController], providers }).compile();
  expect(await module.get(OrdersController).place('pen')).toEqual({ product: 'pen', mail: 'none' });
  // `pg` is found without `esModuleInterop`.
  await createPostgresPool({ connectionString: 'postgres://127.0.0.1/shop' }).close();
});
