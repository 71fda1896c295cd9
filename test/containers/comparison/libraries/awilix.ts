import { asClass, asFunction, type AwilixContainer, createContainer, InjectionMode } from 'awilix';
import type { Library, Scope } from '../library.js';
import { Clock, connect, Left, Pool, Right, Users, Visit, Welcome } from '../services.js';

const injectionMode = InjectionMode.CLASSIC;
const empty = () => createContainer({ injectionMode, strict: true });

const view = (scope: AwilixContainer): Scope => ({
  visit: () => scope.resolve('visit'),
  pool: () => scope.resolve('pool'),
  open: () => view(scope.createScope()),
});

class First {}
class Second {
  readonly first: First;
  constructor(first: First) {
    this.first = first;
  }
}
class Third {
  readonly second: Second;
  constructor(second: Second) {
    this.second = second;
  }
}

export const library: Library = {
  title: 'awilix',
  file: 'awilix.ts',
  package: 'awilix',
  scopes() {
    return view(empty().register({ visit: asClass(Visit).scoped(), pool: asClass(Pool).singleton() }));
  },
  disposal(lifetime, { first, second, third }) {
    const container = empty().register({
      first: asClass(First, { lifetime: lifetime === 'request' ? 'SCOPED' : 'SINGLETON' }).disposer(first),
      second: asClass(Second, { lifetime: lifetime === 'request' ? 'SCOPED' : 'SINGLETON' }).disposer(second),
      third: asClass(Third, { lifetime: lifetime === 'request' ? 'SCOPED' : 'SINGLETON' }).disposer(third),
    });
    const owner = lifetime === 'request' ? container.createScope() : container;
    return {
      resolveThird: () => owner.resolve('third'),
      dispose: () => owner.dispose(),
      disposeApplication: () => container.dispose(),
    };
  },
  captive() {
    const container = empty().register({ visit: asClass(Visit).scoped(), welcome: asClass(Welcome).singleton() });
    return { resolve: () => container.createScope().resolve('welcome') };
  },
  circular() {
    const container = empty().register({ left: asClass(Left).singleton(), right: asClass(Right).singleton() });
    return { resolve: () => container.resolve('left') };
  },
  missing() {
    const container = empty().register({ users: asFunction((absent: Pool) => new Users(absent)) });
    return { resolve: () => container.resolve('users') };
  },
  misspelt() {
    const container = createContainer<{ pool: Pool }>({ injectionMode }).register({ pool: asClass(Pool) });
    // @ts-expect-error a container with a type knows the keys of its cradle
    return { resolve: () => container.cradle.misspelt };
  },
  mismatch() {
    const container = createContainer<{ pool: Clock; users: Users }>({ injectionMode });
    container.register({ pool: asClass(Clock), users: asClass(Users) });
    return { resolve: () => container.resolve('users') };
  },
  wireClass() {
    class Proxied extends Users {
      constructor({ pool }: { pool: Pool }) {
        super(pool);
      }
    }
    return createContainer()
      .register({ pool: asClass(Pool), users: asClass(Proxied) })
      .resolve('users');
  },
  wireFactory() {
    return createContainer()
      .register({ pool: asClass(Pool), users: asFunction(({ pool }: { pool: Pool }) => new Users(pool)) })
      .resolve('users');
  },
  wireByName() {
    return empty()
      .register({ pool: asClass(Pool), users: asClass(Users) })
      .resolve('users');
  },
  asyncFactory() {
    return empty()
      .register({
        pool: asFunction(connect).singleton(),
        users: asFunction((pool: Promise<Pool>) => ({ pool })).singleton(),
      })
      .resolve('users');
  },
  async folder(path) {
    const container = createContainer();
    await container.loadModules([`${path}/*.mjs`], { esModules: true });
    return container.resolve('clock');
  },
};
