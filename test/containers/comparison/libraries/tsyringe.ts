import 'reflect-metadata';
import { container as globalContainer, type DependencyContainer, inject, injectable, Lifecycle } from 'tsyringe';
import type { Library, Scope } from '../library.js';
import { Clock, connect, Left, Pool, Right, Users, Visit, Welcome } from '../services.js';

const empty = () => globalContainer.createChildContainer();
const singleton = { lifecycle: Lifecycle.Singleton } as const;
const scoped = { lifecycle: Lifecycle.ContainerScoped } as const;

const view = (scope: DependencyContainer): Scope => ({
  visit: () => scope.resolve('visit'),
  pool: () => scope.resolve('pool'),
  open: () => view(scope.createChildContainer()),
});

@injectable()
class DecoratedUsers extends Users {
  constructor(@inject('pool') pool: Pool) {
    super(pool);
  }
}

export const library: Library = {
  title: 'tsyringe',
  file: 'tsyringe.ts',
  package: 'tsyringe',
  scopes() {
    return view(empty().register('visit', { useClass: Visit }, scoped).register('pool', { useClass: Pool }, singleton));
  },
  disposal(lifetime, { first, second, third }) {
    @injectable()
    class First {
      dispose = first;
    }
    @injectable()
    class Second {
      dispose = second;
      constructor(@inject('first') readonly needed: First) {}
    }
    @injectable()
    class Third {
      dispose = third;
      constructor(@inject('second') readonly needed: Second) {}
    }
    const options = lifetime === 'request' ? scoped : singleton;
    const container = empty()
      .register('first', { useClass: First }, options)
      .register('second', { useClass: Second }, options)
      .register('third', { useClass: Third }, options);
    const owner = lifetime === 'request' ? container.createChildContainer() : container;
    return {
      resolveThird: () => owner.resolve('third'),
      dispose: () => owner.dispose(),
      disposeApplication: () => container.dispose(),
    };
  },
  captive() {
    @injectable()
    class Decorated extends Welcome {
      constructor(@inject('visit') visit: Visit) {
        super(visit);
      }
    }
    const container = empty()
      .register('visit', { useClass: Visit }, scoped)
      .register('welcome', { useClass: Decorated }, singleton);
    return { resolve: () => container.createChildContainer().resolve('welcome') };
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
    const container = empty()
      .register('left', { useClass: DecoratedLeft }, singleton)
      .register('right', { useClass: DecoratedRight }, singleton);
    return { resolve: () => container.resolve('left') };
  },
  missing() {
    @injectable()
    class Decorated extends Users {
      constructor(@inject('absent') pool: Pool) {
        super(pool);
      }
    }
    const container = empty().register('users', { useClass: Decorated });
    return { resolve: () => container.resolve('users') };
  },
  misspelt() {
    const container = empty().register('pool', { useClass: Pool });
    return { resolve: () => container.resolve('misspelt') };
  },
  mismatch() {
    const container = empty().register('pool', { useClass: Clock }).register('users', { useClass: DecoratedUsers });
    return { resolve: () => container.resolve('users') };
  },
  wireFactory() {
    return empty()
      .register('pool', { useClass: Pool })
      .register('users', { useFactory: (container) => new Users(container.resolve<Pool>('pool')) })
      .resolve('users');
  },
  wireDecorated() {
    return empty()
      .register('pool', { useClass: Pool })
      .register('users', { useClass: DecoratedUsers })
      .resolve('users');
  },
  asyncFactory() {
    return empty()
      .register('pool', { useFactory: connect })
      .register('users', { useClass: DecoratedUsers })
      .resolve('users');
  },
};
