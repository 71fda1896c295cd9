import { describe, expect, it } from 'vitest';
import type { Container } from '../src/index.js';
import { hasTag, Registration, scope, singleton } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const named = (key: string) => Registration.fromFactory(() => ({ key })).pipe(singleton());
const perTransaction = scope(hasTag('transaction'));

describe('a registration added after scopes were opened', () => {
  it('is found by the scopes open already, by those below them, and by those opened later', () => {
    const app = openApplication();
    const request = openRequest(app);
    const transaction = openTransaction(request);
    app.addRegistration(named('pool').to('IPool'), named('audit').pipe(perRequest).to('IAudit'));

    expect(transaction.resolve('IPool')).toBe(app.resolve('IPool'));
    expect(transaction.resolve('IAudit')).toBe(request.resolve('IAudit'));
    expect(openTransaction(request).resolve('IAudit')).toBe(request.resolve('IAudit'));
    expect(openRequest(app).resolve('IAudit')).not.toBe(request.resolve('IAudit'));
  });

  it('wins over an older one of its key, and is made although the older one was', () => {
    const app = openApplication(named('old').to('IPool'), named('old').pipe(perRequest).to('IAudit'));
    const request = openRequest(app);
    const keys = ['IPool', 'IAudit'];
    expect(keys.map((key) => request.resolve(key))).toEqual([{ key: 'old' }, { key: 'old' }]);
    app.addRegistration(named('new').to('IPool'), named('new').pipe(perRequest).to('IAudit'));

    expect(keys.map((key) => request.resolve(key))).toEqual([{ key: 'new' }, { key: 'new' }]);
    expect(request.resolve('IPool')).toBe(app.resolve('IPool'));
  });

  it('does not change what is cached', () => {
    const holder = Registration.fromFactory((pool) => ({ pool }), ['IPool']);
    const app = openApplication(named('old').to('IPool'), holder.pipe(singleton()).to('IKept'), holder.to('INew'));
    const kept = openRequest(app).resolve('IKept');
    app.addRegistration(named('new').to('IPool'));

    expect(app.resolve('IKept')).toBe(kept);
    expect(kept).toEqual({ pool: { key: 'old' } });
    expect(app.resolve('INew')).toEqual({ pool: { key: 'new' } });
  });

  it('on one request does not reach another of the same shape, before or after', () => {
    const app = openApplication();
    const [before, request] = [openRequest(app), openRequest(app)];
    request.addRegistration(named('own').to('IOwn'));

    expect(request.resolve('IOwn')).toEqual({ key: 'own' });
    for (const other of [before, openRequest(app), app]) {
      expect(refusal(() => other.resolve('IOwn')).code).toBe('AMBIT_NOT_REGISTERED');
    }
  });

  it('on one of two requests that registered its key directly does not reach the other', () => {
    const app = openApplication();
    const [one, other] = ['one', 'other'].map((name) => openRequest(app).register('IUser', () => name));
    one!.addRegistration(Registration.fromValue('added').to('IUser'));

    expect(one!.resolve('IUser')).toBe('added');
    expect(other!.resolve('IUser')).toBe('other');
    expect(other!.resolveAll('IUser')).toEqual(['other']);
    expect(
      openRequest(app)
        .register('IUser', () => 'third')
        .resolve('IUser'),
    ).toBe('third');
  });

  it('on a request reaches the transactions open in it, with what they registered directly', () => {
    const request = openRequest(openApplication());
    const [one, other] = [openTransaction(request), openTransaction(request)];
    one.register('ISession', () => 'of one');
    other.register('ISession', () => 'of other');
    request.addRegistration(
      Registration.fromFactory((connection) => ({ connection }), ['ISession'])
        .pipe(singleton(), perTransaction)
        .to('IOrders'),
    );

    expect(one.resolve('IOrders')).toEqual({ connection: 'of one' });
    expect(other.resolve('IOrders')).toEqual({ connection: 'of other' });
    expect(one.resolve('IOrders')).toBe(one.resolve('IOrders'));
  });
});

describe('instances of open scopes', () => {
  const levels: ((key: string) => ReturnType<typeof named>)[] = [
    named,
    (key) => named(key).pipe(perRequest),
    (key) => named(key).pipe(perTransaction),
  ];
  const keysOf = (turn: number) => levels.map((_, level) => `key ${turn}.${level}`);
  const bindings = (turn: number) => keysOf(turn).map((key, level) => levels[level]!(key).to(key));

  it('stay what and where they are, whatever is added above them and in whatever order they were made', () => {
    const app = openApplication(...bindings(0));
    const open: Container[] = [];
    const seen = new Map<Container, Map<string, unknown>>();
    for (let turn = 0; turn < 12; turn++) {
      const request = openRequest(app);
      open.push(openTransaction(request), openTransaction(request));
      // Every scope makes other instances at another time than the rest, so that no two are filled alike.
      open.forEach((transaction, i) => {
        const made = seen.get(transaction) ?? new Map<string, unknown>();
        seen.set(transaction, made);
        const key = keysOf((turn * 7 + i) % (turn + 1))[i % 3]!;
        made.set(key, transaction.resolve(key));
      });
      app.addRegistration(...bindings(turn + 1));
    }

    const wrong = [...seen].flatMap(([transaction, made]) =>
      [...made].filter(
        ([key, instance]) => transaction.resolve(key) !== instance || (instance as { key: string }).key !== key,
      ),
    );
    expect(wrong).toEqual([]);
    const all = Array.from({ length: 12 }, (_, turn) => keysOf(turn)).flat();
    expect(open.map((transaction) => all.map((key) => transaction.resolve(key)))).toEqual(
      open.map(() => all.map((key) => ({ key }))),
    );
  });

  it('stay theirs when a key is registered directly that another scope registered before they were made', () => {
    const app = openApplication(named('audit').pipe(perRequest).to('IAudit'));
    const [request, other] = [openRequest(app), openRequest(app)];
    other.register('IUser', () => 'other');
    const audit = request.resolve('IAudit');
    request.register('IUser', () => 'own');

    expect(request.resolve('IAudit')).toBe(audit);
  });

  it('are never returned for another key, whatever the scopes beside theirs made and registered directly', () => {
    const app = openApplication(...['A', 'B', 'C'].map((key) => named(key).pipe(perRequest).to(key)));
    const [request, other] = [openRequest(app), openRequest(app)];
    other.register('IUser', () => 'other');
    request.resolve('A');
    request.resolve('B');
    request.register('IUser', () => 'own');

    expect(['C', 'B', 'A'].map((key) => request.resolve(key))).toEqual([{ key: 'C' }, { key: 'B' }, { key: 'A' }]);
  });

  it('are disposed once, although the scope took on registrations after they were made', async () => {
    const disposed: string[] = [];
    const disposing = (key: string) =>
      Registration.fromFactory(() => ({ dispose: () => disposed.push(key) })).pipe(singleton(), perRequest);
    const app = openApplication(disposing('first').to('first'));
    const request = openRequest(app);
    request.resolve('first');
    app.addRegistration(disposing('second').to('second'), disposing('first, replaced').to('first'));
    request.register('directly', () => 0);
    request.resolve('second');
    request.resolve('first');
    await app.dispose();

    expect(disposed).toEqual(['first, replaced', 'second', 'first']);
  });
});
