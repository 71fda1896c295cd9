import { describe, expect, it } from 'vitest';
import { inject, optional, Registration, singleton, type Container } from '../src/index.js';
import { explain, graph, toMermaid, verify } from '../src/tools.js';
import { request } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

class Users {
  constructor(@inject(optional('ICache')) readonly cache?: unknown) {}
}
const users = Registration.fromClass(Users);
const cache = Registration.fromValue('a cache');
const cacheOf = (scope: Container) => scope.resolve<Users>('IUsers').cache;

describe('optional(key)', () => {
  it('gives the service, or undefined where nothing is registered', () => {
    expect(cacheOf(openApplication(users.to('IUsers')))).toBe(undefined);
    expect(cacheOf(openApplication(users.to('IUsers'), cache.to('ICache')))).toBe('a cache');
  });

  it('works in the lists of classes and factories', () => {
    const list = [optional('IMissing'), optional('ICache')] as const;
    const app = openApplication(
      cache.to('ICache'),
      Registration.fromFactory((...got) => got, list).to('IFactory'),
      Registration.fromClass(
        class {
          got: unknown[];
          constructor(...got: unknown[]) {
            this.got = got;
          }
        },
        list,
      ).to('IClass'),
    );
    expect(app.resolve('IFactory')).toEqual([undefined, 'a cache']);
    expect(app.resolve('IClass')).toEqual({ got: [undefined, 'a cache'] });
  });

  it('looks in the scope that resolves it, or in the owner of a singleton', () => {
    const app = openApplication(
      users.to('IUsers'),
      users.pipe(singleton()).to('IShared'),
      users.pipe(singleton(), perRequest).to('IOfRequest'),
      cache.pipe(perRequest).to('ICache'),
    );
    const transaction = openTransaction(openRequest(app));

    expect(cacheOf(app)).toBe(undefined);
    expect(cacheOf(transaction)).toBe('a cache');
    expect(transaction.resolve<Users>('IOfRequest').cache).toBe('a cache');
    expect(transaction.resolve<Users>('IShared').cache).toBe(undefined);
  });

  it('finds what is registered later, and what is registered directly on the scope', () => {
    const app = openApplication(users.to('IUsers'));
    expect(cacheOf(app)).toBe(undefined);

    const child = openRequest(app).register('ICache', () => 'direct');
    expect(cacheOf(child)).toBe('direct');
    expect(cacheOf(app.addRegistration(cache.to('ICache')))).toBe('a cache');
  });

  it('makes no instance of a class that nobody registered', () => {
    class Cache {}
    const app = openApplication(Registration.fromFactory((got) => ({ got }), [optional(Cache)]).to('IHolder'));

    expect(app.resolve('IHolder')).toEqual({ got: undefined });
    app.addRegistration(Registration.fromClass(Cache).to(Cache));
    expect(app.resolve<{ got: unknown }>('IHolder').got).toBeInstanceOf(Cache);
  });
});

describe('tools on optional(key)', () => {
  it('verify accepts one that is missing, and one that some scopes have', () => {
    const [one, ofRequest] = [users.to('IUsers'), cache.pipe(perRequest).to('ICache')];
    const fine = [
      [one, users.pipe(singleton()).to('IShared')],
      [one, ofRequest],
      [users.pipe(singleton(), perRequest).to('IUsers'), ofRequest],
    ];
    for (const registrations of fine) expect(() => verify(openApplication(...registrations), request)).not.toThrow();
  });

  it('verify reports a singleton whose optional dependency only shorter-lived scopes have: it would never get it', () => {
    const app = openApplication(users.pipe(singleton()).to('IUsers'), cache.pipe(perRequest).to('ICache'));

    expect(refusal(() => verify(app, request)).problems).toMatchObject([
      { code: 'AMBIT_CAPTIVE_DEPENDENCY', key: 'ICache', path: ['IUsers', 'ICache'] },
    ]);
  });

  it('graph draws it where it exists, and nothing where it does not', () => {
    const app = openApplication(users.to('IUsers'));
    expect(graph(app)).toMatchObject({ nodes: [{ key: 'IUsers' }], edges: [] });

    app.addRegistration(cache.to('ICache'));
    expect(graph(app).edges).toMatchObject([{ kind: 'optional' }]);
    expect(toMermaid(graph(app))).toContain('n0 --o n1');
    expect(String(explain(app, 'ICache'))).toContain('wins');
  });
});

it('names in the graph what is registered nowhere, and the key that it may be a misspelling of', () => {
  const mails = Registration.fromFactory(() => ({}), [optional('ITemplate'), optional('IClock'), optional('INothing')]);
  const clock = Registration.fromValue('a clock').pipe(perRequest);
  const app = openApplication(mails.to('IMails'), cache.to('ITemplates'), clock.to('IClock'));
  const { absent, nodes } = graph(app, { tags: ['request'] });
  const from = nodes.find(({ key }) => key === 'IMails')?.id;
  expect(absent).toEqual([
    { from, key: 'ITemplate', similar: 'ITemplates' },
    { from, key: 'INothing', similar: undefined },
  ]);
});
