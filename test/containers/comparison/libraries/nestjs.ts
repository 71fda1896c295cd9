import 'reflect-metadata';
import { Inject, Injectable, type INestApplicationContext, Module, type Provider, Scope } from '@nestjs/common';
import { ContextIdFactory, INQUIRER, NestFactory } from '@nestjs/core';
import type { Library } from '../library.js';
import { Cart, Clock, connect, Left, type Logger, Pool, Right, Shop, Users, Visit, Welcome } from '../services.js';

@Module({})
class Services {}

const start = (...providers: Provider[]): Promise<INestApplicationContext> =>
  NestFactory.createApplicationContext({ module: Services, providers }, { logger: false, abortOnError: false });

@Injectable()
class DecoratedUsers extends Users {
  constructor(@Inject('pool') pool: Pool) {
    super(pool);
  }
}

export const library: Library = {
  title: 'NestJS',
  file: 'nestjs.ts',
  package: '@nestjs/core',
  async scopes() {
    const app = await start(
      { provide: 'visit', useClass: Visit, scope: Scope.REQUEST },
      { provide: 'pool', useClass: Pool },
    );
    return {
      visit: () => app.get('visit'),
      pool: () => app.get('pool'),
      open() {
        const request = ContextIdFactory.create();
        return { visit: () => app.resolve('visit', request), pool: () => app.get('pool') };
      },
    };
  },
  async disposal(lifetime, { first, second, third }) {
    const scope = lifetime === 'request' ? Scope.REQUEST : Scope.DEFAULT;
    @Injectable({ scope })
    class First {
      onModuleDestroy = first;
    }
    @Injectable({ scope })
    class Second {
      onModuleDestroy = second;
      constructor(@Inject('first') readonly needed: First) {}
    }
    @Injectable({ scope })
    class Third {
      onModuleDestroy = third;
      constructor(@Inject('second') readonly needed: Second) {}
    }
    const app = await start(
      { provide: 'first', useClass: First },
      { provide: 'second', useClass: Second },
      { provide: 'third', useClass: Third },
    );
    return {
      resolveThird: () => (lifetime === 'request' ? app.resolve('third', ContextIdFactory.create()) : app.get('third')),
      // A request has nothing to dispose.
      dispose: () => (lifetime === 'request' ? undefined : app.close()),
      disposeApplication: () => app.close(),
    };
  },
  captive() {
    @Injectable()
    class Decorated extends Welcome {
      constructor(@Inject('visit') visit: Visit) {
        super(visit);
      }
    }
    let app: Promise<INestApplicationContext> | undefined;
    const started = () =>
      (app ??= start(
        { provide: 'visit', useClass: Visit, scope: Scope.REQUEST },
        { provide: 'welcome', useClass: Decorated, scope: Scope.DEFAULT },
      ));
    return { start: started, resolve: async () => (await started()).resolve('welcome', ContextIdFactory.create()) };
  },
  circular() {
    @Injectable()
    class DecoratedLeft extends Left {
      constructor(@Inject('right') right: unknown) {
        super(right);
      }
    }
    @Injectable()
    class DecoratedRight extends Right {
      constructor(@Inject('left') left: unknown) {
        super(left);
      }
    }
    const app = () =>
      start({ provide: 'left', useClass: DecoratedLeft }, { provide: 'right', useClass: DecoratedRight });
    return { start: app, resolve: async () => (await app()).get('left') };
  },
  missing() {
    @Injectable()
    class Decorated extends Users {
      constructor(@Inject('absent') pool: Pool) {
        super(pool);
      }
    }
    const app = () => start({ provide: 'users', useClass: Decorated });
    return { start: app, resolve: async () => (await app()).get('users') };
  },
  misspelt() {
    return { resolve: async () => (await start({ provide: 'pool', useClass: Pool })).get('misspelt') };
  },
  mismatch() {
    return {
      resolve: async () =>
        (await start({ provide: 'pool', useClass: Clock }, { provide: 'users', useClass: DecoratedUsers })).get(
          'users',
        ),
    };
  },
  async wireFactory() {
    const app = await start(
      { provide: 'pool', useClass: Pool },
      { provide: 'users', useFactory: (pool: Pool) => new Users(pool), inject: ['pool'] },
    );
    return app.get('users');
  },
  async wireDecorated() {
    const app = await start({ provide: 'pool', useClass: Pool }, { provide: 'users', useClass: DecoratedUsers });
    return app.get('users');
  },
  async asyncFactory() {
    const app = await start({ provide: 'pool', useFactory: connect }, { provide: 'users', useClass: DecoratedUsers });
    return app.get('users');
  },
  async property() {
    @Injectable()
    class Decorated {
      @Inject('pool') declare readonly pool: Pool;
    }
    const app = await start({ provide: 'pool', useClass: Pool }, { provide: 'users', useClass: Decorated });
    return app.get('users');
  },
  async conditional() {
    @Injectable({ scope: Scope.TRANSIENT })
    class DecoratedLogger implements Logger {
      readonly name: string;
      constructor(@Inject(INQUIRER) inquirer: object) {
        this.name = inquirer instanceof Cart ? 'cart' : 'shop';
      }
    }
    @Injectable()
    class DecoratedShop extends Shop {
      constructor(@Inject('logger') logger: Logger) {
        super(logger);
      }
    }
    @Injectable()
    class DecoratedCart extends Cart {
      constructor(@Inject('logger') logger: Logger) {
        super(logger);
      }
    }
    const app = await start(
      { provide: 'logger', useClass: DecoratedLogger },
      { provide: 'shop', useClass: DecoratedShop },
      { provide: 'cart', useClass: DecoratedCart },
    );
    return [app.get<Shop>('shop').logger.name, app.get<Cart>('cart').logger.name];
  },
};
