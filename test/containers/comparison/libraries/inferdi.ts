import { Container } from '@inferdi/inferdi';
import type { Library, Scope } from '../library.js';
import { Clock, connect, Left, Pool, Right, Users, Visit, Welcome } from '../services.js';

const shop = () => new Container().registerClass('pool', Pool, []).registerClass('visit', Visit, [], 'scoped');

const view = (scope: ReturnType<typeof shop>): Scope => ({
  visit: () => scope.get('visit'),
  pool: () => scope.get('pool'),
  open: () => view(scope.createScope()),
});

export const library: Library = {
  title: 'InferDI',
  file: 'inferdi.ts',
  package: '@inferdi/inferdi',
  scopes() {
    return view(shop());
  },
  disposal(lifetime, { first, second, third }) {
    class First {
      dispose = first;
    }
    class Second {
      dispose = second;
      constructor(readonly needed: First) {}
    }
    class Third {
      dispose = third;
      constructor(readonly needed: Second) {}
    }
    if (lifetime === 'application') {
      const container = new Container()
        .registerClass('first', First, [])
        .registerClass('second', Second, ['first'])
        .registerClass('third', Third, ['second']);
      const dispose = () => container.dispose();
      return { resolveThird: () => container.get('third'), dispose, disposeApplication: dispose };
    }
    const container = new Container()
      .registerClass('first', First, [], 'scoped')
      .registerClass('second', Second, ['first'], 'scoped')
      .registerClass('third', Third, ['second'], 'scoped');
    const request = container.createScope();
    return {
      resolveThird: () => request.get('third'),
      dispose: () => request.dispose(),
      disposeApplication: () => container.dispose(),
    };
  },
  captive() {
    const container = new Container().registerClass('visit', Visit, [], 'scoped');
    return {
      resolve: () =>
        container
          // @ts-expect-error captive dependency
          .registerClass('welcome', Welcome, ['visit'], 'singleton')
          .createScope()
          .get('welcome'),
    };
  },
  circular() {
    return {
      resolve: () =>
        new Container()
          // @ts-expect-error 'right' is not registered yet
          .registerClass('left', Left, ['right'])
          // @ts-expect-error so 'left' is not registered either
          .registerClass('right', Right, ['left'])
          .get('left'),
    };
  },
  missing() {
    return {
      resolve: () =>
        new Container()
          // @ts-expect-error 'absent' is not registered
          .registerClass('users', Users, ['absent'])
          .get('users'),
    };
  },
  misspelt() {
    const container = new Container().registerClass('pool', Pool, []);
    // @ts-expect-error 'misspelt' is not registered
    return { resolve: () => container.get('misspelt') };
  },
  mismatch() {
    const container = new Container().registerClass('pool', Clock, []);
    return {
      resolve: () =>
        container
          // @ts-expect-error a clock is no pool
          .registerClass('users', Users, ['pool'])
          .get('users'),
    };
  },
  wireClass() {
    return new Container().registerClass('pool', Pool, []).registerClass('users', Users, ['pool']).get('users');
  },
  wireFactory() {
    return new Container()
      .registerClass('pool', Pool, [])
      .registerFactory('users', (container) => new Users(container.get('pool')))
      .get('users');
  },
  asyncFactory() {
    return new Container()
      .registerFactory('pool', connect)
      .registerFactory('users', (container) => ({ pool: container.get('pool') }))
      .get('users');
  },
};
