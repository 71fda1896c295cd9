import { describe, expect, it } from 'vitest';
import { Registration, singleton, type IContainer } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const orders = Registration.fromFactory((connection) => ({ connection }), ['ISession']).to('IOrders');

/** Something that counts how often it was disposed, in each way there is. */
function openConnection() {
  const disposed: string[] = [];
  return {
    disposed,
    dispose: () => disposed.push('dispose'),
    [Symbol.dispose]: () => disposed.push('Symbol.dispose'),
    [Symbol.asyncDispose]: () => disposed.push('Symbol.asyncDispose'),
  };
}

describe('a connection registered on one transaction', () => {
  it('is missing on the next one of the same shape', async () => {
    const request = openRequest(openApplication(orders));
    const first = openTransaction(request).register('ISession', () => 'first');
    expect(first.resolve('IOrders')).toEqual({ connection: 'first' });
    await first.dispose();
    const second = openTransaction(request);

    expect(refusal(() => second.resolve('ISession')).code).toBe('AMBIT_NOT_REGISTERED');
    expect(refusal(() => second.resolve('IOrders')).code).toBe('AMBIT_NOT_REGISTERED');
    expect(second.register('ISession', () => 'second').resolve('IOrders')).toEqual({ connection: 'second' });
  });

  it('is missing on the next one after 1,000 transactions that had one', () => {
    const request = openRequest(openApplication(orders));
    for (let i = 0; i < 1000; i++) {
      const transaction = openTransaction(request).register('ISession', () => i);
      expect(transaction.resolve('IOrders')).toEqual({ connection: i });
    }

    expect(refusal(() => openTransaction(request).resolve('IOrders')).code).toBe('AMBIT_NOT_REGISTERED');
  });

  it('is kept apart from that of another transaction, open at the same time', () => {
    const request = openRequest(openApplication(orders));
    const [one, other] = [openTransaction(request), openTransaction(request)];
    one.register('ISession', () => 'one');
    other.register('ISession', () => 'other');

    const results = [one, other, one, other].map((transaction) => transaction.resolve('IOrders'));
    expect(results.map((result) => (result as { connection: string }).connection)).toEqual([
      'one',
      'other',
      'one',
      'other',
    ]);
  });

  it('is seen by what is opened below, not by its parent and its siblings', () => {
    const app = openApplication();
    const request = openRequest(app);
    const transaction = openTransaction(request);
    const below = openTransaction(transaction);
    transaction.register('ISession', () => 'open');

    expect(below.resolve('ISession')).toBe('open');
    expect(openTransaction(below).resolve('ISession')).toBe('open');
    for (const scope of [app, request, openTransaction(request)]) {
      expect(refusal(() => scope.resolve('ISession')).code).toBe('AMBIT_NOT_REGISTERED');
    }
  });

  it('is never disposed by the scope, nor by one below that asked for it', async () => {
    const request = openRequest(openApplication());
    const open = openConnection();
    const transaction = openTransaction(request).register('ISession', () => open);
    openTransaction(transaction).resolve('ISession');
    transaction.resolve('ISession');
    await request.dispose();

    expect(open.disposed).toEqual([]);
  });
});

describe('register', () => {
  it('calls the factory once for each scope that it is registered on: two services get one request id', () => {
    const needsId = (key: string) => Registration.fromFactory((id) => ({ id }), ['requestId']).to(key);
    const app = openApplication(needsId('IAudit'), needsId('ILog'));
    const ids = [openRequest(app), openRequest(app)].map((request) => {
      request.register('requestId', () => crypto.randomUUID());
      const seen = [request, openTransaction(request), openTransaction(request)].flatMap((scope) => [
        scope.resolve('requestId'),
        scope.resolve<{ id: unknown }>('IAudit').id,
        scope.resolve<{ id: unknown }>('ILog').id,
      ]);
      expect(new Set(seen).size).toBe(1);
      return seen[0];
    });

    expect(ids[0]).not.toBe(ids[1]);
  });

  it.each([null, 0, ''])('keeps %j, which is a result, too', (result) => {
    let calls = 0;
    const request = openRequest(openApplication()).register('IFalsy', () => (calls++, result));
    expect([request.resolve('IFalsy'), request.resolve('IFalsy')]).toEqual([result, result]);
    expect(calls).toBe(1);
  });

  it('calls a factory again that threw, or whose promise rejected', async () => {
    let calls = 0;
    const failTwice = () => {
      calls++;
      if (calls === 1) throw new Error('not yet');
      return calls === 2 ? Promise.reject(new Error('not yet')) : Promise.resolve('connected');
    };
    const app = openApplication().register('IConnected', failTwice);
    expect(() => app.resolve('IConnected')).toThrow('not yet');
    await expect(app.resolve('IConnected')).rejects.toThrow('not yet');
    expect(await app.resolve('IConnected')).toBe('connected');
    expect(await app.resolve('IConnected')).toBe('connected');
    expect(calls).toBe(3);
  });

  it('hands the factory the scope it was registered on, also when a scope below asks', () => {
    const request = openRequest(openApplication());
    const seen: IContainer[] = [];
    request.register('IScope', (scope) => seen.push(scope));
    request.resolve('IScope');
    openTransaction(request).resolve('IScope');

    expect(seen).toEqual([request]);
  });

  it('replaces what was registered before, for later resolves; what is cached keeps what it got', () => {
    const request = openRequest(openApplication()).addRegistration(
      Registration.fromFactory((user) => ({ user }), ['IUser'])
        .pipe(singleton())
        .to('IKept'),
      Registration.fromFactory((user) => ({ user }), ['IUser']).to('INew'),
    );
    request.register('IUser', () => 'Ada');
    const kept = request.resolve('IKept');
    request.register('IUser', () => 'Bob');

    expect(request.resolve('IUser')).toBe('Bob');
    expect(request.resolve('INew')).toEqual({ user: 'Bob' });
    expect(request.resolve('IKept')).toBe(kept);
    expect(kept).toEqual({ user: 'Ada' });
  });

  it('beats what was added to the scope before, and loses to what is added after', () => {
    const request = openRequest(openApplication()).addRegistration(Registration.fromValue('added').to('IThing'));
    request.register('IThing', () => 'directly');
    expect(request.resolve('IThing')).toBe('directly');

    request.addRegistration(Registration.fromValue('added later').to('IThing'));
    expect(request.resolve('IThing')).toBe('added later');

    request.register('IThing', () => 'directly again');
    expect(request.resolve('IThing')).toBe('directly again');
  });

  it('beats a registration from above that the scope would own, also one added later', () => {
    const inherited = Registration.fromValue('from above').pipe(perRequest).to('IThing');
    const app = openApplication(inherited);
    const request = openRequest(app).register('IThing', () => 'directly');
    app.addRegistration(inherited);

    expect(request.resolve('IThing')).toBe('directly');
    expect(openRequest(app).resolve('IThing')).toBe('from above');
  });

  it('on the application binds for every scope, those open already included', () => {
    const app = openApplication();
    const request = openRequest(app);
    app.register('IClock', () => 'noon');

    expect([app, request, openTransaction(request), openRequest(app)].map((scope) => scope.resolve('IClock'))).toEqual(
      Array(4).fill('noon'),
    );
  });

  it('of several keys, in any order, gives each its own', () => {
    const request = openRequest(openApplication());
    const [one, other] = [openTransaction(request), openTransaction(request)];
    one.register('A', () => 'A of one').register('B', () => 'B of one');
    other.register('B', () => 'B of other').register('A', () => 'A of other');

    expect(['A', 'B'].map((key) => one.resolve(key))).toEqual(['A of one', 'B of one']);
    expect(['A', 'B'].map((key) => other.resolve(key))).toEqual(['A of other', 'B of other']);
  });

  it('of a new key leaves a warm scope’s other keys as they were', () => {
    const app = openApplication(
      Registration.fromFactory(() => ({}))
        .pipe(singleton())
        .to('IPool'),
      Registration.fromFactory(() => ({}))
        .pipe(singleton(), perRequest)
        .to('IAudit'),
    );
    const request = openRequest(app).register('IUser', () => 'Ada');
    const keys = ['IPool', 'IAudit', 'IUser'];
    const before = keys.map((key) => request.resolve(key));
    for (let i = 0; i < 100; i++) request.register(`IThing${i}`, () => i);

    expect(keys.map((key) => request.resolve(key))).toEqual(before);
    expect(request.resolve('IAudit')).toBe(before[1]);
    expect(request.resolve('IThing99')).toBe(99);
  });

  it('returns the scope, as addRegistration does, so that they chain', () => {
    const request = openRequest(openApplication());
    expect(request.register('IUser', () => 'Ada')).toBe(request);
    expect(request.addRegistration(orders)).toBe(request);
    expect(request.addRegistration()).toBe(request);
  });

  it('refuses what is not a function', () => {
    const error = refusal(() => openApplication().register('ISession', {} as () => unknown));
    expect(error).toMatchObject({ code: 'AMBIT_BAD_REGISTRATION', key: 'ISession' });
  });
});
