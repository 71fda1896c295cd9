import { createInjector, type Injector, Scope } from 'typed-inject';
import type { Library, Scope as View } from '../library.js';
import { Cart, Clock, connect, Left, type Logger, Pool, Right, Shop, Users, Visit, Welcome } from '../services.js';

interface Application {
  pool: Pool;
}

class ListedUsers extends Users {
  static readonly inject = ['pool'] as const;
}
class ListedLeft extends Left {
  static readonly inject = ['right'] as const;
}
class ListedRight extends Right {
  static readonly inject = ['left'] as const;
}

function view(scope: Injector<Application>, request?: Injector<Application & { visit: Visit }>): View {
  let own = request;
  return {
    // Before `register` nothing has the key: the cast does what JavaScript would.
    visit: () => (own ?? (scope as Injector<Application & { visit: Visit }>)).resolve('visit'),
    pool: () => scope.resolve('pool'),
    open: () => view(scope.createChildInjector(), own?.createChildInjector()),
    register() {
      own = scope.provideClass('visit', Visit);
    },
  };
}

export const library: Library = {
  title: 'typed-inject',
  file: 'typed-inject.ts',
  package: 'typed-inject',
  scopes() {
    return view(createInjector().provideClass('pool', Pool));
  },
  disposal(lifetime, { first, second, third }) {
    class First {
      dispose = first;
    }
    class Second extends Left {
      static readonly inject = ['first'] as const;
      dispose = second;
    }
    class Third extends Left {
      static readonly inject = ['second'] as const;
      dispose = third;
    }
    const container = createInjector();
    const owner = lifetime === 'request' ? container.createChildInjector() : container;
    const injector = owner.provideClass('first', First).provideClass('second', Second).provideClass('third', Third);
    return {
      resolveThird: () => injector.resolve('third'),
      dispose: () => owner.dispose(),
      disposeApplication: () => container.dispose(),
    };
  },
  captive() {
    class Listed extends Welcome {
      static readonly inject = ['visit'] as const;
    }
    return {
      resolve: () =>
        createInjector()
          // @ts-expect-error 'visit' is not provided to the application
          .provideClass('welcome', Listed)
          .createChildInjector()
          .provideClass('visit', Visit)
          .resolve('welcome'),
    };
  },
  circular() {
    return {
      resolve: () =>
        createInjector()
          // @ts-expect-error 'right' is not provided yet
          .provideClass('left', ListedLeft)
          .provideClass('right', ListedRight)
          .resolve('right'),
    };
  },
  missing() {
    class Listed extends Users {
      static readonly inject = ['absent'] as const;
    }
    return {
      resolve: () =>
        createInjector()
          // @ts-expect-error 'absent' is not provided
          .provideClass('users', Listed)
          .resolve('users'),
    };
  },
  misspelt() {
    const injector = createInjector().provideClass('pool', Pool);
    // @ts-expect-error 'misspelt' is not provided
    return { resolve: () => injector.resolve('misspelt') };
  },
  mismatch() {
    return {
      resolve: () =>
        createInjector()
          .provideClass('pool', Clock)
          // @ts-expect-error a clock is no pool
          .provideClass('users', ListedUsers)
          .resolve('users'),
    };
  },
  wireClass() {
    return createInjector().provideClass('pool', Pool).provideClass('users', ListedUsers).resolve('users');
  },
  wireFactory() {
    const makeUsers = (pool: Pool) => new Users(pool);
    makeUsers.inject = ['pool'] as const;
    return createInjector().provideClass('pool', Pool).provideFactory('users', makeUsers).resolve('users');
  },
  asyncFactory() {
    const makeUsers = (pool: Promise<Pool>) => ({ pool });
    makeUsers.inject = ['pool'] as const;
    return createInjector().provideFactory('pool', connect).provideFactory('users', makeUsers).resolve('users');
  },
  conditional() {
    const makeLogger = (target: { name: string } | undefined): Logger => ({ name: target?.name ?? 'nobody' });
    makeLogger.inject = ['$target'] as const;
    const makeShop = function shop(logger: Logger) {
      return new Shop(logger);
    };
    const makeCart = function cart(logger: Logger) {
      return new Cart(logger);
    };
    const injector = createInjector().provideFactory('logger', makeLogger, Scope.Transient);
    const shop = injector.injectFunction(Object.assign(makeShop, { inject: ['logger'] as const }));
    const cart = injector.injectFunction(Object.assign(makeCart, { inject: ['logger'] as const }));
    return [shop.logger.name, cart.logger.name];
  },
};
