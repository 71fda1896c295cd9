import { Container, currentScope, runInScope } from '@ambit/container';
import { InScope, Transactional } from '@ambit/nest';
import type { IConnection } from '@ambit/transaction';
import { FakePool } from '@ambit/transaction/testing';
import { Controller, Post } from '@nestjs/common';
import { from, type Observable } from 'rxjs';
import { beforeAll, expect, it } from 'vitest';

@Controller('orders')
class Orders {
  constructor(private readonly service: { place(): Promise<string> }) {}

  @Post()
  @Transactional()
  place(): Promise<string> {
    return this.service.place();
  }

  @Transactional()
  late(): Observable<string> {
    return from(this.service.place());
  }

  @InScope()
  async job(): Promise<string> {
    return this.service.place();
  }
}

const orders = new Orders({
  place: async () => {
    await currentScope(undefined)?.resolve<IConnection>('IConnection').query('INSERT');
    return 'placed';
  },
});

// As `setupFiles` does.
beforeAll(() => import('@ambit/nest/testing'));

it('a decorated method that is called outside of a scope is called as it is', async () => {
  expect(await orders.place()).toBe('placed');
  expect(await orders.job()).toBe('placed');
});

it('in a scope its transaction is begun as ever', async () => {
  const pool = new FakePool();
  const container = new Container();
  container.register('IDatabasePool', () => pool);
  expect(await runInScope(container, () => orders.place())).toBe('placed');
  expect(pool.stored).toEqual(['INSERT']);
});
