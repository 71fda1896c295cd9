import { Container, inject, InjectionToken } from '@needle-di/core';
import type { Library, Scope } from '../library.js';
import { Clock, connect, Left, Pool, Right, Users, Visit, Welcome } from '../services.js';

const pool = new InjectionToken<Pool>('pool');
const users = new InjectionToken<Users>('users');
const visit = new InjectionToken<Visit>('visit');

class InjectedUsers extends Users {
  constructor(injected = inject(pool)) {
    super(injected);
  }
}

const view = (scope: Container): Scope => ({
  visit: () => scope.get(visit),
  pool: () => scope.get(pool),
  open: () => view(scope.createChild()),
  register: () => scope.bind({ provide: visit, useClass: Visit }),
});

export const library: Library = {
  title: 'needle-di',
  file: 'needle-di.ts',
  package: '@needle-di/core',
  scopes() {
    return view(new Container().bind({ provide: pool, useClass: Pool }));
  },
  captive() {
    class Injected extends Welcome {
      constructor(injected = inject(visit)) {
        super(injected);
      }
    }
    const request = new Container().bind(Injected).createChild().bind({ provide: visit, useClass: Visit });
    return { resolve: () => request.get(Injected) };
  },
  circular() {
    const left = new InjectionToken<Left>('left');
    const right = new InjectionToken<Right>('right');
    const container = new Container().bindAll(
      { provide: left, useFactory: () => new Left(inject(right)) },
      { provide: right, useFactory: () => new Right(inject(left)) },
    );
    return { resolve: () => container.get(left) };
  },
  missing() {
    const absent = new InjectionToken<Pool>('absent');
    const container = new Container().bind({ provide: users, useFactory: () => new Users(inject(absent)) });
    return { resolve: () => container.get(users) };
  },
  misspelt() {
    const container = new Container().bind({ provide: pool, useClass: Pool });
    return { resolve: () => container.get('misspelt') };
  },
  mismatch() {
    const clock = new InjectionToken<Clock>('clock');
    const container = new Container().bindAll(
      { provide: clock, useClass: Clock },
      // @ts-expect-error a clock is no pool
      { provide: users, useFactory: () => new Users(inject(clock)) },
    );
    return { resolve: () => container.get(users) };
  },
  wireClass() {
    return new Container().bindAll({ provide: pool, useClass: Pool }, InjectedUsers).get(InjectedUsers);
  },
  wireFactory() {
    return new Container()
      .bindAll({ provide: pool, useClass: Pool }, { provide: users, useFactory: () => new Users(inject(pool)) })
      .get(users);
  },
  asyncFactory() {
    return new Container()
      .bindAll({ provide: pool, async: true, useFactory: connect }, InjectedUsers)
      .getAsync(InjectedUsers);
  },
  property() {
    class Injected {
      readonly pool = inject(pool);
    }
    return new Container().bindAll({ provide: pool, useClass: Pool }, Injected).get(Injected);
  },
};
