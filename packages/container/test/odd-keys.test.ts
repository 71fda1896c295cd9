import { describe, expect, it } from 'vitest';
import { all, decorate, inject, lazy, Registration, singleton, type Binding, type Key } from '../src/index.js';
import { explain, graph, override, toMermaid, verify } from '../src/tools.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

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
