import { describe, expect, it, vi } from 'vitest';
import { type Container, type IContainer, Registration, scope as onlyWhere, type Tagged } from '../src/index.js';
import { heapAfterCollection } from './support/memory.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction } from './support/scopes.js';

const orders = Registration.fromFactory((connection) => ({ connection }), ['ISession']).to('IOrders');

describe('register', () => {
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
    openTransaction(request).resolve('IScope');

    expect(seen).toEqual([request]);
  });

  it('returns the scope, as addRegistration does, so that they chain', () => {
    const request = openRequest(openApplication());
    expect(request.register('IUser', () => 'Ada')).toBe(request);
    expect(request.addRegistration(orders)).toBe(request);
    expect(request.addRegistration()).toBe(request);
  });

  it('does not hold the value of a factory that another one has replaced', async () => {
    const app = openApplication().register('IJob', (from) => from.createScope({ tags: ['job'] }));
    const job = new WeakRef(app.resolve<Container>('IJob'));
    await job.deref()?.dispose();
    app.register('IJob', () => 'another');
    await heapAfterCollection();

    expect(job.deref()).toBeUndefined();
  });
});

describe('the services that scopes are opened with', () => {
  const services = { IRequestId: () => ({ dispose: vi.fn<() => void>() }) };
  const needsId = Registration.fromFactory((id) => ({ id }), ['IRequestId']).to('ILog');

  it('are made once a scope, when it or one below asks, and are not disposed', async () => {
    const app = openApplication(needsId);
    const [one, other] = [1, 2].map(() => app.createScope({ tags: ['request'], services })) as [Container, Container];
    const id = one.resolve<ReturnType<typeof services.IRequestId>>('IRequestId');

    expect(openTransaction(one).resolve('ILog')).toEqual({ id });
    expect(openTransaction(one).resolve('IRequestId')).toBe(id);
    expect(other.resolve('IRequestId')).not.toBe(id);
    await app.dispose();
    expect(id.dispose).not.toHaveBeenCalled();
  });

  it('receive the scope that was opened with them, and give way to what is registered on it', () => {
    const app = openApplication();
    const own = { IScope: (scope: IContainer) => scope };
    const request = app.createScope({ tags: ['request'], services: own });

    expect(openTransaction(request).resolve('IScope')).toBe(request);
    expect(request.register('IScope', () => 'another').resolve('IScope')).toBe('another');
  });

  it('belong to no other scope with the same tags, nor to one with other services', () => {
    const app = openApplication();
    const others = [undefined, { IOther: () => 1 }].map((own) => app.createScope({ tags: ['request'], services: own }));
    const job = app.createScope({ tags: ['job'], services });

    expect(job.has('IRequestId')).toBe(true);
    expect(others.map((scope) => scope.has('IRequestId'))).toEqual([false, false]);
    expect(app.createScope({ tags: ['request'], services }).tags).toEqual(['request']);
  });

  it('cost scopes of two kinds nothing that are opened in turn: each kind is compiled once', () => {
    let asked = 0;
    const counting = (tagged: Tagged) => {
      asked++;
      return tagged.hasTag('request');
    };
    const app = openApplication(
      Registration.fromFactory(() => ({}))
        .pipe(onlyWhere(counting))
        .to('IAudit'),
    );
    const openBoth = () => {
      for (const tags of [['request'], ['request', 'admin']]) app.createScope({ tags, services }).resolve('IAudit');
    };
    openBoth();
    const afterTheFirst = asked;
    for (let i = 0; i < 100; i++) openBoth();

    expect(afterTheFirst).toBeGreaterThan(0);
    expect(asked).toBe(afterTheFirst);
  });

  it('are refused where one is no function, as register() does', () => {
    const open = () => openApplication().createScope({ tags: [], services: { IRequestId: 'id' as never } });
    expect(refusal(open)).toMatchObject({ code: 'AMBIT_BAD_REGISTRATION', key: 'IRequestId' });
  });
});
