import 'reflect-metadata';
import { Container, inject, injectable, preDestroy } from 'inversify';
import type { Library, Scope } from '../library.js';
import { Cart, Clock, connect, Left, type Logger, Pool, Right, Shop, Users, Visit, Welcome } from '../services.js';

const view = (scope: Container): Scope => ({
  visit: () => scope.get('visit'),
  pool: () => scope.get('pool'),
  open: () => view(new Container({ parent: scope })),
  register: () => scope.bind('visit').to(Visit).inSingletonScope(),
});

@injectable()
class DecoratedUsers extends Users {
  constructor(@inject('pool') pool: Pool) {
    super(pool);
  }
}

export const library: Library = {
  title: 'InversifyJS',
  file: 'inversify.ts',
  package: 'inversify',
  scopes() {
    const container = new Container();
    container.bind('pool').to(Pool).inSingletonScope();
    return view(container);
  },
  disposal(lifetime, { first, second, third }) {
    @injectable()
    class First {
      @preDestroy()
      close() {
        return first();
      }
    }
    @injectable()
    class Second {
      constructor(@inject('first') readonly needed: First) {}
      @preDestroy()
      close() {
        return second();
      }
    }
    @injectable()
    class Third {
      constructor(@inject('second') readonly needed: Second) {}
      @preDestroy()
      close() {
        return third();
      }
    }
    const container = new Container();
    const owner = lifetime === 'request' ? new Container({ parent: container }) : container;
    owner.bind('first').to(First).inSingletonScope();
    owner.bind('second').to(Second).inSingletonScope();
    owner.bind('third').to(Third).inSingletonScope();
    return {
      resolveThird: () => owner.get('third'),
      dispose: () => owner.unbindAllAsync(),
      disposeApplication: () => container.unbindAllAsync(),
    };
  },
  captive() {
    @injectable()
    class Decorated extends Welcome {
      constructor(@inject('visit') visit: Visit) {
        super(visit);
      }
    }
    const container = new Container();
    container.bind('welcome').to(Decorated).inSingletonScope();
    return {
      resolve() {
        const request = new Container({ parent: container });
        request.bind('visit').to(Visit).inSingletonScope();
        return request.get('welcome');
      },
    };
  },
  circular() {
    @injectable()
    class DecoratedLeft extends Left {
      constructor(@inject('right') right: unknown) {
        super(right);
      }
    }
    @injectable()
    class DecoratedRight extends Right {
      constructor(@inject('left') left: unknown) {
        super(left);
      }
    }
    const container = new Container();
    container.bind('left').to(DecoratedLeft).inSingletonScope();
    container.bind('right').to(DecoratedRight).inSingletonScope();
    return { resolve: () => container.get('left') };
  },
  missing() {
    @injectable()
    class Decorated extends Users {
      constructor(@inject('absent') pool: Pool) {
        super(pool);
      }
    }
    const container = new Container();
    container.bind('users').to(Decorated);
    return { resolve: () => container.get('users') };
  },
  misspelt() {
    const container = new Container();
    container.bind('pool').to(Pool);
    return { resolve: () => container.get('misspelt') };
  },
  mismatch() {
    const container = new Container();
    container.bind('pool').to(Clock);
    container.bind('users').to(DecoratedUsers);
    return { resolve: () => container.get('users') };
  },
  wireFactory() {
    const container = new Container();
    container.bind<Pool>('pool').toDynamicValue(() => new Pool());
    container.bind<Users>('users').toResolvedValue((pool: Pool) => new Users(pool), ['pool']);
    return container.get('users');
  },
  wireDecorated() {
    const container = new Container();
    container.bind('pool').to(Pool);
    container.bind('users').to(DecoratedUsers);
    return container.get('users');
  },
  asyncFactory() {
    const container = new Container();
    container.bind('pool').toDynamicValue(connect).inSingletonScope();
    container.bind('users').to(DecoratedUsers);
    return container.getAsync('users');
  },
  property() {
    @injectable()
    class Decorated {
      @inject('pool') declare readonly pool: Pool;
    }
    const container = new Container();
    container.bind('pool').to(Pool);
    container.bind('users').to(Decorated);
    return container.get('users');
  },
  conditional() {
    @injectable()
    class DecoratedShop extends Shop {
      constructor(@inject('logger') logger: Logger) {
        super(logger);
      }
    }
    @injectable()
    class DecoratedCart extends Cart {
      constructor(@inject('logger') logger: Logger) {
        super(logger);
      }
    }
    const container = new Container();
    container.bind<Logger>('logger').toConstantValue({ name: 'shop' }).whenParentIs('shop');
    container.bind<Logger>('logger').toConstantValue({ name: 'cart' }).whenParentIs('cart');
    container.bind<Shop>('shop').to(DecoratedShop);
    container.bind<Cart>('cart').to(DecoratedCart);
    return [container.get<Shop>('shop').logger.name, container.get<Cart>('cart').logger.name];
  },
};
