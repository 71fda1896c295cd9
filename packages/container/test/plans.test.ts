import { describe, expect, it } from 'vitest';
import { decorate, hasTag, Registration, scope, singleton } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const fresh = Registration.fromFactory(() => ({}));

describe('a warm plan', () => {
  it('still refuses on the application what only requests have', () => {
    const app = openApplication(
      fresh.pipe(singleton(), perRequest).to('IAudit'),
      Registration.fromFactory((audit) => ({ audit }), ['IAudit']).to('IHandler'),
    );
    const cold = ['IAudit', 'IHandler'].map((key) => refusal(() => app.resolve(key)).message);
    for (let i = 0; i < 1000; i++) openRequest(app).resolve('IHandler');
    const warm = ['IAudit', 'IHandler'].map((key) => refusal(() => app.resolve(key)).message);

    expect(warm).toEqual(cold);
  });

  it('of the application serves requests, and that of a request the application', () => {
    const app = openApplication(fresh.pipe(singleton()).to('IPool'), fresh.pipe(singleton()).to('ICache'));
    const request = openRequest(app);

    expect(request.resolve('IPool')).toBe(app.resolve('IPool'));
    expect(app.resolve('ICache')).toBe(request.resolve('ICache'));
  });

  it('keeps every lifetime on the 1st, the 2nd and the 1,000th scope of a shape', () => {
    const app = openApplication(
      fresh.pipe(singleton()).to('application'),
      fresh.pipe(singleton(), perRequest).to('request'),
      fresh.pipe(singleton(), scope(hasTag('transaction'))).to('transaction'),
      fresh.to('new'),
      Registration.fromFactory(
        (...needs: unknown[]) => needs,
        ['application', 'request', 'transaction', 'new', 'hand'],
      ).to('all'),
    );
    const shared = app.resolve('application');
    for (let i = 0; i < 1000; i++) {
      const request = openRequest(app);
      const transaction = openTransaction(request).register('hand', () => i);
      const [application, ofRequest, ofTransaction, made, hand] = transaction.resolve<unknown[]>('all');

      expect(hand).toBe(i);
      expect(application).toBe(shared);
      expect(ofRequest).toBe(request.resolve('request'));
      expect(ofTransaction).toBe(transaction.resolve('transaction'));
      expect(new Set([application, ofRequest, ofTransaction, made, transaction.resolve('new')]).size).toBe(5);
      expect(refusal(() => request.resolve('transaction')).code).toBe('AMBIT_OUT_OF_SCOPE');
    }
  });

  it('for 100 keys, used in another order by each scope, gives each key its own instance', () => {
    const keys = Array.from({ length: 100 }, (_, i) => `key ${i}`);
    const named = keys.map((key) =>
      Registration.fromFactory(() => ({ key }))
        .pipe(singleton(), perRequest)
        .to(key),
    );
    const app = openApplication(...named);
    for (let turn = 0; turn < 100; turn++) {
      const request = openRequest(app);
      const turned = [...keys.slice(turn), ...keys.slice(0, turn)];
      const made = turned.map((key) => request.resolve(key));

      expect(made).toEqual(turned.map((key) => ({ key })));
      expect(turned.map((key) => request.resolve(key)).every((again, i) => again === made[i])).toBe(true);
    }
  });

  it('wraps a decorated singleton once, however deep the scope that asks', () => {
    let wraps = 0;
    const wrap = decorate((inner: object) => ({ inner, number: ++wraps }));
    const app = openApplication(fresh.pipe(singleton(), wrap).to('IPool'));
    let deep = openRequest(app);
    for (let i = 0; i < 20; i++) {
      expect(deep.resolve('IPool')).toEqual({ inner: {}, number: 1 });
      deep = openTransaction(deep);
    }

    expect(wraps).toBe(1);
  });

  it('serves 50 scopes in one another', () => {
    const app = openApplication(fresh.pipe(singleton(), perRequest).to('IAudit'), fresh.pipe(singleton()).to('IPool'));
    const request = openRequest(app);
    let deep = openTransaction(request);
    for (let i = 0; i < 50; i++) deep = openTransaction(deep);

    expect(deep.resolve('IAudit')).toBe(request.resolve('IAudit'));
    expect(deep.resolve('IPool')).toBe(app.resolve('IPool'));
  });

  it('is planned again after a failure, once what was missing is there', () => {
    const app = openApplication(Registration.fromFactory((pool) => ({ pool }), ['IPool']).to('IUsers'));
    const request = openRequest(app);
    for (const asking of [app, request, request]) {
      expect(refusal(() => asking.resolve('IUsers')).code).toBe('AMBIT_NOT_REGISTERED');
    }
    app.addRegistration(Registration.fromValue('pool').to('IPool'));

    expect(request.resolve('IUsers')).toEqual({ pool: 'pool' });
    expect(app.resolve('IUsers')).toEqual({ pool: 'pool' });
  });
});
