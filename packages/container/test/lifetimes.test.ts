import { describe, expect, it } from 'vitest';
import { inject, Registration, singleton, type IContainer } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

class Pool {}
class NewPool {}

describe('a singleton', () => {
  it('registered on the application is one for it and for every request and transaction', () => {
    let made = 0;
    const pool = Registration.fromFactory(() => ({ number: ++made })).pipe(singleton());
    const app = openApplication(pool.to('IPool'));
    const first = openRequest(app);
    const scopes = [openTransaction(first), first, openRequest(app), openRequest(app), app];

    expect(new Set(scopes.map((scope) => scope.resolve('IPool')))).toEqual(new Set([{ number: 1 }]));
    expect(made).toBe(1);
  });

  it('outlives the request that asked for it first', async () => {
    const app = openApplication(Registration.fromClass(Pool).pipe(singleton()).to('IPool'));
    const request = openRequest(app);
    const pool = request.resolve('IPool');
    await request.dispose();

    expect(app.resolve('IPool')).toBe(pool);
    expect(openRequest(app).resolve('IPool')).toBe(pool);
  });

  it('of requests is one per request', () => {
    const app = openApplication(Registration.fromClass(Pool).pipe(singleton(), perRequest).to('IPool'));
    const [one, other] = [openRequest(app), openRequest(app)];

    expect(one.resolve('IPool')).toBeInstanceOf(Pool);
    expect(one.resolve('IPool')).toBe(one.resolve('IPool'));
    expect(one.resolve('IPool')).not.toBe(other.resolve('IPool'));
  });

  it('added to a request belongs to that request and is seen by its transactions only', () => {
    const app = openApplication();
    const request = openRequest(app).addRegistration(Registration.fromClass(Pool).pipe(singleton()).to('IPool'));

    expect(openTransaction(request).resolve('IPool')).toBe(request.resolve('IPool'));
    expect(refusal(() => app.resolve('IPool')).code).toBe('AMBIT_NOT_REGISTERED');
    expect(refusal(() => openRequest(app).resolve('IPool')).code).toBe('AMBIT_NOT_REGISTERED');
  });

  it('is one per key, also when two keys share a class', () => {
    const pool = Registration.fromClass(Pool).pipe(singleton());
    const app = openApplication(pool.to('IReadPool'), pool.to('IWritePool'));

    expect(app.resolve('IReadPool')).toBe(app.resolve('IReadPool'));
    expect(app.resolve('IReadPool')).not.toBe(app.resolve('IWritePool'));
  });

  it.each([[0], [''], [false], [null], [undefined], [Number.NaN]])('that is %j is made once, too', (value) => {
    let made = 0;
    const make = () => {
      made++;
      return value;
    };
    const app = openApplication(Registration.fromFactory(make).pipe(singleton()).to('IValue'));

    expect([app.resolve('IValue'), openRequest(app).resolve('IValue')]).toEqual([value, value]);
    expect(made).toBe(1);
  });

  it('stays one when the modifier is piped twice', () => {
    const app = openApplication(Registration.fromClass(Pool).pipe(singleton()).pipe(singleton()).to('IPool'));
    expect(openRequest(app).resolve('IPool')).toBe(app.resolve('IPool'));
  });

  it('is one for two requests whose work interleaves', async () => {
    const app = openApplication(Registration.fromClass(Pool).pipe(singleton()).to('IPool'));
    const handle = async () => {
      await using request = openRequest(app);
      await Promise.resolve();
      const pool = request.resolve('IPool');
      await Promise.resolve();
      expect(request.resolve('IPool')).toBe(pool);
      return pool;
    };
    const [one, other] = await Promise.all([handle(), handle()]);

    expect(one).toBe(other);
  });

  it('takes its dependencies from its owner, the one who asks first', () => {
    class Users {
      constructor(@inject('IPool') readonly pool: unknown) {}
    }
    const app = openApplication(
      Registration.fromClass(Pool).pipe(singleton()).to('IPool'),
      Registration.fromClass(Users).pipe(singleton()).to('IUsers'),
    );
    const request = openRequest(app).addRegistration(Registration.fromClass(NewPool).to('IPool'));

    expect(request.resolve('IPool')).toBeInstanceOf(NewPool);
    expect(request.resolve<Users>('IUsers').pool).toBe(app.resolve('IPool'));
    expect(openRequest(app).resolve<Users>('IUsers').pool).toBe(app.resolve('IPool'));
  });
});

describe('a registration without singleton', () => {
  it('gives a new instance at every resolve', () => {
    const app = openApplication(Registration.fromClass(Pool).to('IPool'));
    const request = openRequest(app);

    expect(new Set([app, app, request, request].map((scope) => scope.resolve('IPool'))).size).toBe(4);
  });

  it('is made twice when one graph needs it twice', () => {
    class Holder {
      constructor(@inject('IPool') readonly pool: unknown) {}
    }
    class Pair {
      constructor(
        @inject('IHolder') readonly one: Holder,
        @inject('IHolder') readonly other: Holder,
      ) {}
    }
    const app = openApplication(
      Registration.fromClass(Pool).to('IPool'),
      Registration.fromClass(Holder).to('IHolder'),
      Registration.fromClass(Pair).to('IPair'),
    );
    const { one, other } = app.resolve<Pair>('IPair');

    expect(one).not.toBe(other);
    expect(one.pool).not.toBe(other.pool);
  });

  it('takes its dependencies from the scope that asks', () => {
    const orders = Registration.fromFactory((connection) => ({ connection }), ['ISession']).to('IOrders');
    const app = openApplication(orders);
    const connection = {};
    const transaction = openTransaction(openRequest(app)).register('ISession', () => connection);

    expect(transaction.resolve('IOrders')).toEqual({ connection });
    expect(refusal(() => app.resolve('IOrders')).code).toBe('AMBIT_NOT_REGISTERED');
  });

  it('of requests sees a transaction that asks, and no transaction when the request asks', () => {
    const orders = Registration.fromFactory((connection) => ({ connection }), ['ISession']).pipe(perRequest);
    const request = openRequest(openApplication(orders.to('IOrders')));
    const transaction = openTransaction(request).register('ISession', () => 'open');

    expect(transaction.resolve('IOrders')).toEqual({ connection: 'open' });
    const error = refusal(() => request.resolve('IOrders'));
    expect(error).toMatchObject({ code: 'AMBIT_NOT_REGISTERED', path: ['IOrders', 'ISession'] });
  });
});

describe('a longer lifetime', () => {
  it('never captures a shorter one, and the error names both keys and both lifetimes', () => {
    const orders = Registration.fromFactory((connection) => ({ connection }), ['ISession']);
    const app = openApplication(orders.pipe(singleton(), perRequest).to('IOrders'));
    const transaction = openTransaction(openRequest(app)).register('ISession', () => 'open');
    const error = refusal(() => transaction.resolve('IOrders'));

    expect(error).toMatchObject({ code: 'AMBIT_CAPTIVE_DEPENDENCY', path: ['IOrders', 'ISession'] });
    const words = ["'IOrders'", "'ISession'", '[application] > [request]', '[transaction]'];
    expect(words.filter((word) => !error.message.includes(word))).toEqual([]);
  });
});

describe('a factory', () => {
  it('gets the scope that owns its singleton, and the scope that asks for anything else', () => {
    const itself = Registration.fromFactory((scope: IContainer) => ({ scope }));
    const app = openApplication(
      itself.pipe(singleton()).to('IApplicationThing'),
      itself.pipe(singleton(), perRequest).to('IRequestThing'),
      itself.pipe(perRequest).to('INewThing'),
    );
    const request = openRequest(app);
    const transaction = openTransaction(request);
    const scopeOf = (key: string) => transaction.resolve<{ scope: IContainer }>(key).scope;

    expect(scopeOf('IApplicationThing')).toBe(app);
    expect(scopeOf('IRequestThing')).toBe(request);
    expect(scopeOf('INewThing')).toBe(transaction);
  });
});
