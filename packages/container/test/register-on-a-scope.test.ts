import { describe, expect, it } from 'vitest';
import { Registration, type IContainer } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction } from './support/scopes.js';

const orders = Registration.fromFactory((connection) => ({ connection }), ['ISession']).to('IOrders');

describe('a connection registered on one transaction', () => {
  it('is missing on the next one after 1,000 transactions that had one', () => {
    const request = openRequest(openApplication(orders));
    for (let i = 0; i < 1000; i++) {
      const transaction = openTransaction(request).register('ISession', () => i);
      expect(transaction.resolve('IOrders')).toEqual({ connection: i });
    }

    expect(refusal(() => openTransaction(request).resolve('IOrders')).code).toBe('AMBIT_NOT_REGISTERED');
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

  it('returns the scope, as addRegistration does, so that they chain', () => {
    const request = openRequest(openApplication());
    expect(request.register('IUser', () => 'Ada')).toBe(request);
    expect(request.addRegistration(orders)).toBe(request);
    expect(request.addRegistration()).toBe(request);
  });
});
