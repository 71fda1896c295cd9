import { describe, expect, it } from 'vitest';
import {
  all,
  type Binding,
  type Container,
  decorate,
  inject,
  type Key,
  lazy,
  optional,
  Registration,
  singleton,
} from '../src/index.js';
import { explain, graph, override, toMermaid, verify } from '../src/tools.js';
import { request as declared } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

class Pool {
  disposed = 0;
  dispose() {
    this.disposed++;
  }
}
const pool = Registration.fromClass(Pool);
const aliasOf = (target: string) => Registration.alias(target);

describe('an alias', () => {
  it('of a class gives what is registered for the class', () => {
    const app = openApplication(pool.pipe(singleton()).to(Pool), Registration.alias(Pool).to('IPool'));
    expect(app.resolve('IPool')).toBe(app.resolve(Pool));
  });

  it('of a request’s key is refused on the application, and the path has both names', () => {
    const app = openApplication(pool.pipe(perRequest).to('IPool'), aliasOf('IPool').to('IDatabase'));
    const error = refusal(() => app.resolve('IDatabase'));

    expect(error).toMatchObject({ code: 'AMBIT_OUT_OF_SCOPE', key: 'IPool', path: ['IDatabase', 'IPool'] });
    expect(openRequest(app).resolve('IDatabase')).toBeInstanceOf(Pool);
  });

  it('of nothing is reported by resolve and by verify, with a hint', () => {
    const app = openApplication(pool.to('IPool'), aliasOf('IPol').to('IDatabase'));
    const missing = {
      code: 'AMBIT_NOT_REGISTERED',
      key: 'IPol',
      path: ['IDatabase', 'IPol'],
      hint: "did you mean 'IPool'?",
    };

    expect(refusal(() => app.resolve('IDatabase'))).toMatchObject(missing);
    expect(refusal(() => verify(app)).problems).toMatchObject([missing]);
  });
});

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
    for (const registrations of fine) expect(() => verify(openApplication(...registrations), declared)).not.toThrow();
  });

  it('verify reports a singleton whose optional dependency only shorter-lived scopes have: it would never get it', () => {
    const app = openApplication(users.pipe(singleton()).to('IUsers'), cache.pipe(perRequest).to('ICache'));

    expect(refusal(() => verify(app, declared)).problems).toMatchObject([
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

const named = (name: string) => Registration.fromValue(name);

describe('resolveAll', () => {
  it('gives a list of its own to each caller', () => {
    const app = openApplication(named('a').to('IHook'));
    app.resolveAll('IHook').push('mine');
    app.resolveAll('none').push('mine');

    expect(app.resolveAll('IHook')).toEqual(['a']);
    expect(app.resolveAll('none')).toEqual([]);
  });

  it('fails as a whole with one member, and names the path', () => {
    const broken = Registration.fromFactory((missing) => missing, ['IMissing']);
    const app = openApplication(named('a').to('IHook'), broken.to('IHook'), named('c').to('IHook'));

    const error = refusal(() => app.resolveAll('IHook'));
    expect(error).toMatchObject({ code: 'AMBIT_NOT_REGISTERED', path: ['IHook', 'IMissing'] });
  });
});

class AsKey {}
const anonymous = (() => class {})();

const keys: [string, Exclude<Key, undefined>][] = [
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['prototype', 'prototype'],
  ['toString', 'toString'],
  ['hasOwnProperty', 'hasOwnProperty'],
  ['then', 'then'],
  ['length', 'length'],
  ['the empty string', ''],
  ['a space', ' '],
  ['a number in a string', '0'],
  ['lines and quotes', `'a'\n"b"`],
  ['an emoji', '👩‍🚀'],
  ['a lone surrogate', '\uD800'],
  ['10,000 letters', 'k'.repeat(10_000)],
  ['a symbol', Symbol('key')],
  ['a symbol without a name', Symbol()],
  ['a registered symbol', Symbol.for('ambit:test')],
  ['Symbol.iterator', Symbol.iterator],
  ['Symbol.toPrimitive', Symbol.toPrimitive],
  ['a class', AsKey],
  ['a class without a name', anonymous],
  ['a class of the language', Map],
];

describe.each(keys)('the key %s', (_, key) => {
  // Known keys are checked against their type; these are not known.
  const at = key as string;

  it('keeps every rule of lifetimes', () => {
    const made = Registration.fromFactory(() => ({}));
    const app = openApplication(made.pipe(singleton(), perRequest).to(at), made.to('neighbour'));
    const [one, other] = [openRequest(app), openRequest(app)];

    expect(one.resolve(at)).toBe(one.resolve(at));
    expect(openTransaction(one).resolve(at)).toBe(one.resolve(at));
    expect(one.resolve(at)).not.toBe(other.resolve(at));
    app.addRegistration(made.to(at));
    expect(app.resolve(at)).not.toBe(app.resolve(at));
  });

  it('may be registered directly, on one scope alone', () => {
    const request = openRequest(openApplication());
    openTransaction(request).register(at, () => 'first');
    const transaction = openTransaction(request).register(at, () => 'second');

    expect(transaction.resolve(at)).toBe('second');
    expect(openTransaction(transaction).resolve(at)).toBe('second');
    expect(openTransaction(request).resolveAll(at)).toEqual([]);
  });

  it('may be injected, alone, all of it and later, and aliased, decorated and overridden', () => {
    class Holder {
      constructor(
        @inject(at) readonly one: unknown,
        @inject(all(at)) readonly every: unknown[],
        @inject(lazy(at)) readonly later: () => unknown,
      ) {}
    }
    const app = openApplication(
      Registration.fromValue('first').to(at),
      Registration.fromValue('last')
        .pipe(decorate((inner: string) => `${inner}!`))
        .to(at),
      Registration.alias(at).to('alias'),
    );
    const holder = app.resolve(Holder);

    expect([holder.one, holder.every, holder.later()]).toEqual(['last!', ['first', 'last!'], 'last!']);
    expect(app.resolve('alias')).toBe('last!');
    override(app, Registration.fromValue('test').to(at));
    expect([app.resolve(at), app.resolve('alias'), holder.later()]).toEqual(['test', 'test', 'test']);
  });

  it('is named in errors, and in what tools say', () => {
    const missing = Registration.fromFactory((none) => none, ['IMissing']);
    const app = openApplication(missing.pipe(singleton()).to(at));

    expect(refusal(() => app.resolve(at)).path).toEqual([key, 'IMissing']);
    expect(refusal(() => verify(app)).problems.map(({ path }) => path)).toEqual([[key, 'IMissing']]);
    expect(explain(app, key).winner).toMatchObject({ kind: 'factory', singleton: true });
    expect(graph(app).nodes.map((node) => node.key)).toEqual([key, 'IMissing']);
    expect(toMermaid(graph(app))).toContain('IMissing is missing');
  });
});

describe.each(keys.filter(([, key]) => typeof key !== 'function'))('the key %s, not registered', (_, key) => {
  it('is missing, and no more', () => {
    const app = openApplication(Registration.fromValue(1).to('IOther'));

    expect(refusal(() => app.resolve(key as string))).toMatchObject({ code: 'AMBIT_NOT_REGISTERED', key });
    expect(app.resolveAll(key as string)).toEqual([]);
    expect(explain(app, key).winner).toBeUndefined();
  });
});

describe('keys that look alike', () => {
  it('are different keys', () => {
    const alike: Key[] = [
      'key',
      Symbol('key'),
      Symbol('key'),
      Symbol.for('key'),
      class key {},
      class key {},
      'Symbol(key)',
      'class key',
    ];
    const app = openApplication(...alike.map((key, i) => Registration.fromValue(i).to(key as string)));

    expect(alike.map((key) => app.resolve(key as string))).toEqual(alike.map((_, i) => i));
  });
});

describe('a key', () => {
  it.each<[string, (none: string) => Binding]>([
    ['an alias', (none) => Registration.alias(none).to('key')],
    ['the list of a factory', (none) => Registration.fromFactory((need) => ({ need }), [none]).to('key')],
    ['the list of a class', (none) => Registration.fromClass(Object, [none]).to('key')],
    ['all', (none) => Registration.fromFactory((need) => ({ need }), [all(none)]).to('key')],
  ])('may not be undefined in %s, as it is where modules import each other', (_, registration) => {
    const work = () => openApplication(registration(undefined as unknown as string)).resolve('key');
    expect(refusal(work).code).toMatch(/^AMBIT_(BAD_REGISTRATION|NO_KEY_FOR_PARAMETER)$/);
  });
});

describe.each([[undefined], [null], [0], [''], [false], [0n]])('the value %o', (value) => {
  const make = Registration.fromFactory(() => value);

  it.each([
    ['fromValue', Registration.fromValue(value)],
    ['fromValue with singleton', Registration.fromValue(value).pipe(singleton())],
    ['fromFactory', make],
    ['fromFactory with singleton', make.pipe(singleton())],
    ['fromFactory with singleton, per request', make.pipe(singleton(), perRequest)],
    ['a decorator', Registration.fromValue('inner').pipe(decorate(() => value))],
    [
      'a decorator of a singleton',
      Registration.fromValue('inner').pipe(
        singleton(),
        decorate(() => value),
      ),
    ],
  ])('is a value like others, from %s', async (_, registration) => {
    const app = openApplication(Registration.fromValue('shadowed').to('IValue'), registration.to('IValue'));
    const request = openRequest(app);

    expect([request.resolve('IValue'), request.resolve('IValue')]).toEqual([value, value]);
    expect(openTransaction(request).resolve('IValue')).toBe(value);
    expect(request.resolveAll('IValue')).toEqual(['shadowed', value]);
    await expect(app.dispose()).resolves.toBeUndefined();
  });

  it('may be registered directly, and hides what is above', () => {
    const request = openRequest(openApplication(Registration.fromValue('above').to('IValue'))).register(
      'IValue',
      () => value,
    );

    expect(request.resolve('IValue')).toBe(value);
    expect(openTransaction(request).resolve('IValue')).toBe(value);
  });

  it('is injected, aliased and delivered later', () => {
    class Holder {
      constructor(
        @inject('IValue') readonly one: unknown = 'a default',
        @inject(all('IValue')) readonly every: unknown[],
        @inject(lazy('IValue')) readonly later: () => unknown,
        @inject('IAlias') readonly alias: unknown,
      ) {}
    }
    const app = openApplication(make.pipe(singleton()).to('IValue'), Registration.alias('IValue').to('IAlias'));
    const { one, every, later, alias } = app.resolve(Holder);

    expect([every, later(), alias]).toEqual([[value], value, value]);
    // JavaScript takes undefined for "nothing was passed".
    expect(one).toBe(value === undefined ? 'a default' : value);
  });
});
