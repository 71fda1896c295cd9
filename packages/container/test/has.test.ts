import { describe, expect, it } from 'vitest';
import { Registration, singleton, type Container } from '../src/index.js';
import { asking } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

describe('a scope has a key', () => {
  it('when it is bound there or above: by registration, by predicate or directly', () => {
    const app = openApplication(
      Registration.fromValue(1).to('IApplicationThing'),
      asking().pipe(singleton(), perRequest).to('IRequestThing'),
    );
    const request = openRequest(app);
    const transaction = openTransaction(request).register('ISession', () => 'open');
    const keys = ['IApplicationThing', 'IRequestThing', 'ISession', 'IUnknown'];
    const had = (scope: Container) => keys.filter((key) => scope.has(key));

    expect(had(app)).toEqual(['IApplicationThing']);
    expect(had(request)).toEqual(['IApplicationThing', 'IRequestThing']);
    expect(had(transaction)).toEqual(['IApplicationThing', 'IRequestThing', 'ISession']);
    expect(had(openTransaction(request))).toEqual(had(request));
  });

  it('whether or not what the key needs is there, and makes nothing to know it', () => {
    let made = 0;
    const app = openApplication(asking('IMissing').to('IUsers'), Registration.fromFactory(() => ++made).to('ICounter'));

    expect([app.has('IUsers'), app.has('ICounter'), app.has('IMissing')]).toEqual([true, true, false]);
    expect(made).toBe(0);
  });

  it.each([
    ['a key nobody registered', 'IUnknown', 'AMBIT_NOT_REGISTERED'],
    ['a key for requests, on the application', 'IRequestThing', 'AMBIT_OUT_OF_SCOPE'],
  ])('only then, also after it was asked for: %s', (_, key, code) => {
    const app = openApplication(asking().pipe(perRequest).to('IRequestThing'), asking(key).to('IHolder'));
    for (const asked of [key, 'IHolder', key]) expect(refusal(() => app.resolve(asked)).code).toBe(code);

    expect(app.has(key)).toBe(false);
    expect(app.resolveAll(key)).toEqual([]);
    expect(app.has(key)).toBe(false);
  });

  it('says the same of a class that nobody registered, before and after it was made', () => {
    class Users {}
    const app = openApplication();
    const before = app.has(Users);
    app.resolve(Users);

    expect(app.has(Users)).toBe(before);
  });
});
