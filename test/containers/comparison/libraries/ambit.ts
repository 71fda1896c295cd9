import { type Class, type Composition, Container, inject, lifetimes, onDispose, Registration } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import type { Library, Scope } from '../library.js';
import { Clock, connect, Left, Pool, Right, Users, Visit, Welcome } from '../services.js';

const { of, make, build } = lifetimes('application', 'request');

const view = (scope: Container): Scope => ({
  visit: () => scope.resolve('visit'),
  pool: () => scope.resolve('pool'),
  open: (tag) => view(scope.createScope({ tags: [tag] })),
});

type Graph = Pick<Composition<unknown, unknown>, 'registrations' | 'scopes'>;

function started({ registrations, scopes }: Graph): Container {
  const container = new Container({ tags: ['application'] }).addRegistration(...registrations);
  verify(container, ...scopes);
  return container;
}

class First {}
class Second extends Left {}
class Third extends Left {}

export const library: Library = {
  title: 'Ambit',
  file: 'ambit.ts',
  package: '@ambit/container',
  scopes() {
    return view(started(build({ visit: of('request', Visit), pool: of('application', Pool) })));
  },
  disposal(lifetime, { first, second, third }) {
    const app = build({
      first: of(lifetime, First).pipe(onDispose(first)),
      second: of(lifetime, Second, ['first']).pipe(onDispose(second)),
      third: of(lifetime, Third, ['second']).pipe(onDispose(third)),
    });
    const container = started(app);
    const owner = lifetime === 'request' ? container.createScope({ tags: ['request'] }) : container;
    return {
      resolveThird: () => owner.resolve('third'),
      dispose: () => owner.dispose(),
      disposeApplication: () => container.dispose(),
    };
  },
  captive() {
    const app = build({
      visit: of('request', Visit),
      // @ts-expect-error captive dependency
      welcome: of('application', Welcome, ['visit']),
    });
    return { start: () => started(app), resolve: () => new Container() };
  },
  circular() {
    const app = build({ left: of('application', Left, ['right']), right: of('application', Right, ['left']) });
    return { start: () => started(app), resolve: () => new Container() };
  },
  missing() {
    const app = build({
      // @ts-expect-error 'absent' is not registered
      users: of('application', Users, ['absent']),
    });
    return { start: () => started(app), resolve: () => new Container() };
  },
  misspelt() {
    const container = started(build({ pool: of('application', Pool) }));
    return { resolve: () => container.resolve('misspelt') };
  },
  mismatch() {
    const app = build({
      pool: of('application', Clock),
      // @ts-expect-error a clock is no pool
      users: of('application', Users, ['pool']),
    });
    return { resolve: () => started(app).resolve('users') };
  },
  wireClass() {
    return started(build({ pool: of('application', Pool), users: of('application', Users, ['pool']) })).resolve(
      'users',
    );
  },
  wireFactory() {
    const users = make('application', (pool: Pool) => new Users(pool), ['pool']);
    return started(build({ pool: of('application', Pool), users })).resolve('users');
  },
  wireDecorated() {
    class Decorated extends Users {
      constructor(@inject('pool') pool: Pool) {
        super(pool);
      }
    }
    const register = (type: Class, key: string) => Registration.fromClass(type).to(key);
    return new Container().addRegistration(register(Pool, 'pool'), register(Decorated, 'users')).resolve('users');
  },
  asyncFactory() {
    const users = make('application', (pool: Promise<Pool>) => ({ pool }), ['pool']);
    return started(build({ pool: make('application', connect), users })).resolve('users');
  },
};
