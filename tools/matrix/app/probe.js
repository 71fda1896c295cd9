// Plain JavaScript: nested scopes, disposal, verify, lists of keys, `static inject`, and the typed graph.
import { Container, hasTag, lifetimes, Registration, scope, singleton } from '@ambit/container';
import { expectNoOpenScopes, verify } from '@ambit/container/tools';

/** @param {unknown} actual @param {unknown} expected @param {string} what */
export function equal(actual, expected, what) {
  if (actual !== expected) throw new Error(`${what}: ${String(actual)}, not ${String(expected)}`);
}

const disposed = [];

class Pool {
  dispose() {
    disposed.push('pool');
  }
}

class Users {
  static inject = ['IPool'];
  constructor(pool) {
    this.pool = pool;
  }
  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    disposed.push('users');
  }
}

class Orders {
  constructor(users, pool) {
    this.users = users;
    this.pool = pool;
  }
}

async function registrations() {
  const app = new Container({ tags: ['application'] }).addRegistration(
    Registration.fromClass(Pool).pipe(singleton()).to('IPool'),
    Registration.fromClass(Users)
      .pipe(singleton(), scope(hasTag('request')))
      .to('IUsers'),
    Registration.fromClass(Orders, ['IUsers', 'IPool'])
      .pipe(singleton(), scope(hasTag('transaction')))
      .to('IOrders'),
  );
  verify(app, { tags: ['request'], scopes: [{ tags: ['transaction'] }] });
  const request = app.createScope({ tags: ['request'] });
  const transaction = request.createScope({ tags: ['transaction'] });
  // Often enough for a key to get functions of its own.
  for (let i = 0; i < 5000; i++) transaction.resolve('IOrders');
  const orders = transaction.resolve('IOrders');
  equal(orders.users, request.resolve('IUsers'), 'the users of the orders');
  equal(orders.pool, app.resolve('IPool'), 'the pool of the orders');
  await app.dispose();
  equal(disposed.join(), 'users,pool', 'what was disposed');
  expectNoOpenScopes(app);
}

async function graph() {
  const { of, make, value, build } = lifetimes('application', 'request');
  const app = build({
    size: value(2),
    IPool: make('application', (size) => ({ size }), ['size']),
    IUsers: of('request', Users, ['IPool']),
  });
  const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
  verify(container, ...app.scopes);
  const request = container.createScope({ tags: ['request'] });
  equal(request.resolve('IUsers').pool.size, 2, 'the size of the pool');
  await container.dispose();
}

function captive() {
  const app = new Container({ tags: ['application'] }).addRegistration(
    Registration.fromClass(Pool)
      .pipe(singleton(), scope(hasTag('request')))
      .to('IPool'),
    Registration.fromClass(Users).pipe(singleton()).to('IUsers'),
  );
  let code;
  try {
    verify(app, { tags: ['request'] });
  } catch (error) {
    code = error.problems[0].code;
  }
  equal(code, 'AMBIT_CAPTIVE_DEPENDENCY', 'what verify says of a captive dependency');
}

export async function probe() {
  disposed.length = 0;
  await registrations();
  await graph();
  captive();
  return 'ok';
}
