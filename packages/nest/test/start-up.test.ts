import { Container, hasTag, lifetimes, Registration, scope, singleton } from '@ambit/container';
import {
  AmbitModule,
  type AmbitModuleOptions,
  InjectScoped,
  Transactional,
  type TransactionalOptions,
} from '@ambit/nest';
import { type DatabasePool, TransactionError } from '@ambit/transaction';
import { Controller, Get, type INestApplication, Injectable, Module, Post, Sse } from '@nestjs/common';
import { EMPTY, type Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { containerWith, create, openDatabase, PLATFORMS, rootModule, serve } from './support/app.js';

let pool: DatabasePool;
let app: INestApplication | undefined;
beforeEach(async () => ({ pool } = await openDatabase()));
afterEach(async () => {
  await app?.close();
  app = undefined;
  await pool.close();
});

async function start(metadata: Parameters<typeof rootModule>[1], container = containerWith(pool)): Promise<void> {
  app = await create(rootModule({ container }, metadata), PLATFORMS[0].adapter);
  await app.init();
}

function controllerWith(options: TransactionalOptions): new () => object {
  @Controller()
  class Orders {
    @Post()
    @Transactional(options)
    async place(): Promise<void> {}
  }
  return Orders;
}

describe('an application does not start', () => {
  it.each([{ propagation: 'nested' }, { retries: 1 }, { backoffMs: 1 }] as const)(
    'with a handler of HTTP requests that has the option %o',
    async (options) => {
      await expect(start({ controllers: [controllerWith(options)] })).rejects.toMatchObject({
        code: 'AMBIT_OPTION',
        message: expect.stringContaining('Orders.place()') as string,
      });
    },
  );

  it('with invalid terms of a transaction', async () => {
    await expect(start({ controllers: [controllerWith({ timeoutMs: -1 })] })).rejects.toMatchObject({
      code: 'AMBIT_OPTION',
    });
  });

  it('with an option of responses on a method of a provider', async () => {
    @Injectable()
    class Accounts {
      @Transactional({ rollbackOn: () => true })
      async add(): Promise<void> {}
    }
    await expect(start({ providers: [Accounts] })).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
  });

  it('with events that would be sent before COMMIT', async () => {
    @Controller()
    class Events {
      @Sse()
      @Transactional()
      events(): Observable<never> {
        return EMPTY;
      }
    }
    await expect(start({ controllers: [Events] })).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
  });

  it('with a container whose dependencies are wrong', async () => {
    const { make, build } = lifetimes('application', 'request');
    const graph = build({ ICart: make('request', () => ({})) });
    const container = containerWith(pool).addRegistration(...graph.registrations);
    class Shop {
      constructor(readonly cart: object) {}
    }
    container.addRegistration(Registration.fromClass(Shop, ['ICart']).pipe(singleton()).to('IShop'));
    await expect(start({}, container)).rejects.toMatchObject({ code: 'AMBIT_INVALID' });
  });

  it('with transactions and no pool', async () => {
    const container = new Container({ tags: ['application'] });
    await expect(start({ controllers: [controllerWith({})] }, container)).rejects.toMatchObject({
      code: 'AMBIT_INVALID',
    });
  });

  it('with the module twice', async () => {
    const imports = [AmbitModule.forRoot({ container: containerWith(pool) })];
    await expect(start({ imports })).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
  });

  it('with a container that another application has disposed', async () => {
    const container = containerWith(pool);
    await start({}, container);
    await app?.close();
    app = undefined;
    await expect(start({}, container)).rejects.toThrow(/app\.close\(\) of another application.*forRootAsync/s);
  });

  it('with a container that is none', async () => {
    const creating = create(rootModule({ container: {} as never }, {}), PLATFORMS[0].adapter);
    await expect(creating).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
  });

  it('without the module, where a constructor needs it', async () => {
    @Controller()
    class Orders {
      constructor(@InjectScoped('IOrders') readonly orders: object) {}
    }
    Reflect.defineMetadata('design:paramtypes', [Object], Orders);
    @Module({ controllers: [Orders] })
    class RootModule {}
    await expect(create(RootModule, PLATFORMS[0].adapter)).rejects.toThrow('@InjectScoped(IOrders)');
  });

  it('with @Transactional() on a class that has no handler: it is not even defined', () => {
    const define = (): unknown => {
      @Transactional()
      class Accounts {
        async add(): Promise<void> {}
      }
      return Accounts;
    };
    expect(define).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION' }));
  });
});

it('without the module, a handler in a transaction fails instead of writing outside of one', async () => {
  @Module({ controllers: [controllerWith({})] })
  class RootModule {}
  app = await create(RootModule, PLATFORMS[0].adapter);
  const send = await serve(app);
  expect((await send('POST', '/')).status).toBe(500);
});

it.each(PLATFORMS)(
  'a client on $platform learns the code of a mistake in the application, and no key, scope or method',
  async ({ adapter }) => {
    @Controller()
    class Orders {
      @Get()
      list(@InjectScoped('IOrders') orders: object): object {
        return orders;
      }
    }
    app = await create(rootModule({ container: containerWith(pool) }, { controllers: [Orders] }), adapter);
    const send = await serve(app);
    const message = 'Internal server error [AMBIT_NOT_REGISTERED]';
    expect((await send('GET', '/')).body).toEqual({ statusCode: 500, error: 'Internal Server Error', message });
  },
);

it.each(PLATFORMS)(
  'a client on $platform learns nothing of the statement that a query builder names in its error',
  async ({ adapter }) => {
    @Controller()
    class Orders {
      @Get()
      list(): never {
        const cause = new TransactionError('AMBIT_TX_STATEMENT_FAILED', 'Refused', { sqlState: '23505' });
        const { retryable, status, statusCode } = cause;
        const wrapped = new Error('Failed query: INSERT INTO orders params: secret', { cause });
        throw Object.assign(wrapped, { retryable, status, statusCode });
      }
    }
    app = await create(rootModule({ container: containerWith(pool) }, { controllers: [Orders] }), adapter);
    const send = await serve(app);
    const message = 'Internal server error [AMBIT_TX_STATEMENT_FAILED]';
    expect((await send('GET', '/')).body).toEqual({ statusCode: 500, error: 'Internal Server Error', message });
  },
);

it('starts without a pool where nothing is transactional', async () => {
  @Controller()
  class Health {
    @Get()
    check(): string {
      return 'ok';
    }
  }
  const starting = start({ controllers: [Health] }, new Container({ tags: ['application'] }));
  await expect(starting).resolves.toBeUndefined();
});

it('refuses a service of a transaction that writes outside of it, where noEscape asks for that', async () => {
  const container = containerWith(pool).addRegistration(
    Registration.fromFactory((outside: unknown) => outside, ['IDatabasePool'])
      .pipe(singleton(), scope(hasTag('transaction')))
      .to('IAudit'),
  );
  const starting = (verify: NonNullable<AmbitModuleOptions['verify']>) =>
    create(rootModule({ container, verify }, {}), PLATFORMS[0].adapter).then((made) => made.init());
  await expect(starting([{ noEscape: true }])).rejects.toThrow(
    'IAudit -> IDatabasePool: what IAudit writes stays when',
  );
  app = await starting([{ noEscape: { allow: ['IAudit'] } }]);
});
