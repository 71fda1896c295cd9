import { describe, expect, it } from 'vitest';
import { inject, Registration, singleton, type IContainer } from '../src/index.js';
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

  it('of requests is one per request', () => {
    const app = openApplication(Registration.fromClass(Pool).pipe(singleton(), perRequest).to('IPool'));
    const [one, other] = [openRequest(app), openRequest(app)];

    expect(one.resolve('IPool')).toBeInstanceOf(Pool);
    expect(one.resolve('IPool')).toBe(one.resolve('IPool'));
    expect(one.resolve('IPool')).not.toBe(other.resolve('IPool'));
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

class First {}

const first = Registration.fromClass(First);

describe('one registration object', () => {
  it('added to two applications makes two singletons', () => {
    const registration = first.pipe(singleton()).to('IThing');
    const [one, other] = [openApplication(registration), openApplication(registration)];

    expect(one.resolve('IThing')).toBe(one.resolve('IThing'));
    expect(one.resolve('IThing')).not.toBe(other.resolve('IThing'));
  });

  it('added to the application and to a request makes a singleton in each', () => {
    const registration = first.pipe(singleton()).to('IThing');
    const app = openApplication(registration);
    const request = openRequest(app).addRegistration(registration);

    expect(request.resolve('IThing')).toBe(request.resolve('IThing'));
    expect(request.resolve('IThing')).not.toBe(app.resolve('IThing'));
    expect(openRequest(app).resolve('IThing')).toBe(app.resolve('IThing'));
  });

  it('is not changed by what is piped to it afterwards', () => {
    const plain = Registration.fromClass(First);
    const kept = plain.pipe(singleton());
    const app = openApplication(plain.to('IPlain'), kept.to('IKept'), kept.pipe(perRequest).to('IRequestKept'));

    expect(app.resolve('IPlain')).not.toBe(app.resolve('IPlain'));
    expect(app.resolve('IKept')).toBe(app.resolve('IKept'));
    expect(openRequest(app).resolve('IKept')).toBe(app.resolve('IKept'));
    expect(openRequest(app).resolve('IRequestKept')).not.toBe(openRequest(app).resolve('IRequestKept'));
  });
});
