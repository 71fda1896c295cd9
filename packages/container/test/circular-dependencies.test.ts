import { describe, expect, it } from 'vitest';
import { all, type Binding, type ContainerError, decorate, Registration, singleton } from '../src/index.js';
import { verify } from '../src/tools.js';
import { asking, resolving } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const once = singleton();

/** The keys of a circular dependency, and a check that the message names just them. */
function ringIn({ code, key = '', path, message, hint }: ContainerError): string {
  const ring = path.slice(path.indexOf(key), -1);

  expect(code).toBe('AMBIT_CYCLE');
  expect(path.at(-1)).toBe(key);
  expect(message.split('\n')[0]).toBe(`Circular dependency: ${[...ring, key].join(' -> ')}`);
  expect(message).toContain(path.join(' -> '));
  expect(hint).toContain('lazy(');
  return ring.map(String).toSorted().join('');
}

const three = (one: (key: string) => Registration<unknown>, two = one, last = one): Binding[] => [
  one('B').to('A'),
  two('C').to('B'),
  last('A').to('C'),
];

describe('a circular dependency of three', () => {
  const single = (key: string) => asking(key).pipe(once);
  const singleFactory = (key: string) => resolving(key).pipe(once);
  it.each([
    ['classes', three(asking)],
    ['singletons', three(single)],
    ['requests’ singletons', three((key) => single(key).pipe(perRequest))],
    ['factories', three(resolving)],
    ['singleton factories', three(singleFactory)],
    ['factories that list their needs', three((key) => Registration.fromFactory((need) => need, [key]))],
    ['a class, a factory and a class', three(asking, resolving, asking)],
    ['a singleton, a factory and a class', three(single, resolving, asking)],
    ['a class, a singleton factory and a factory', three(asking, singleFactory, resolving)],
    ['a factory, an alias and a singleton', three(resolving, Registration.alias, single)],
    ['classes that ask for all of a key', three((key) => asking(all(key)))],
    ['decorators', three((key) => asking().pipe(decorate((_, scope) => scope.resolve(key))))],
    [
      'decorators of singletons',
      three((key) =>
        asking().pipe(
          once,
          decorate((_, scope) => scope.resolve(key)),
        ),
      ),
    ],
  ])('is named when it runs through %s', (_, registrations) => {
    const request = openRequest(openApplication(...registrations, asking('A').to('IOutside')));

    for (const start of ['A', 'B', 'C', 'IOutside']) expect(ringIn(refusal(() => request.resolve(start)))).toBe('ABC');
  });

  it('is named when it runs through keys registered directly', () => {
    const request = openRequest(openApplication());
    const directly = (from: string, to: string) => request.register(from, (scope) => scope.resolve(to));
    directly('A', 'B');
    directly('B', 'C');
    directly('C', 'A');

    expect(ringIn(refusal(() => openTransaction(request).resolve('A')))).toBe('ABC');
  });
});

describe('a circular dependency', () => {
  it.each([
    ['a class', asking('A')],
    ['a class that asks for all of its own key', asking(all('A'))],
    ['a factory', resolving('A')],
    ['a singleton factory', resolving('A').pipe(once)],
    ['an alias', Registration.alias('A')],
    ['a decorator', asking().pipe(decorate((_, scope) => scope.resolve('A')))],
    [
      'a decorator of a singleton',
      asking().pipe(
        once,
        decorate((_, scope) => scope.resolve('A')),
      ),
    ],
  ])('of %s alone is drawn', (_, registration) => {
    const app = openApplication(registration.to('A'), asking('A').to('IOutside'), resolving('A').to('IFactory'));

    for (const start of ['A', 'IOutside', 'IFactory']) expect(ringIn(refusal(() => app.resolve(start)))).toBe('A');
  });

  it('through factories with many classes between is drawn before the stack is full', () => {
    const classes = Array.from({ length: 40 }, (_, i) => asking(`K${i + 1}`).to(`K${i}`));
    const app = openApplication(...classes, resolving('K0').to('K40'));

    expect(refusal(() => app.resolve('K0')).code).toBe('AMBIT_CYCLE');
  });

  it('leaves nothing behind: when it is broken, the keys resolve', () => {
    const app = openApplication(...three((key) => resolving(key).pipe(once)));
    refusal(() => app.resolve('A'));
    app.addRegistration(Registration.fromValue('end').to('C'));

    expect(app.resolve('A')).toBe('end');
  });
});

describe('no circular dependency', () => {
  it('is seen where a factory resolves its own key from the scope above', () => {
    const app = openApplication(Registration.fromValue('plain').to('ILogger'));
    const request = openRequest(app).register('ILogger', () => `[request] ${app.resolve<string>('ILogger')}`);

    expect(openTransaction(request).resolve('ILogger')).toBe('[request] plain');
  });
});

/** Each asks for the next, and the last for the one that is given, or for nothing. */
const chain = (length: number, make: (...needs: string[]) => Registration<unknown>, last?: string): Binding[] =>
  Array.from({ length }, (_, i) => {
    const next = i + 1 < length ? `key ${i + 1}` : last;
    return (next === undefined ? asking() : make(next)).to(`key ${i}`);
  });
const single = (...needs: string[]) => asking(...needs).pipe(singleton());
const later = (key = '') => resolving(key);

describe('a long chain of dependencies', () => {
  it.each([
    ['singletons', single],
    ['transients', asking],
    ['factories that resolve', later],
  ])('works with 900 services: %s', (_, make) => {
    const app = openApplication(...chain(900, make));

    expect(() => verify(app)).not.toThrow();
    expect(app.resolve('key 0')).toBeDefined();
  });

  it.each([
    ['singletons', 4000, single],
    ['transients', 4000, asking],
    ['factories that resolve', 4000, later],
    ['singletons', 50_000, single],
  ])('is refused with its first and last keys where it is too long: %s, %i', (_, length, make) => {
    const { code, message, hint } = refusal(() => openApplication(...chain(length, make)).resolve('key 0'));

    expect(code).toBe('AMBIT_TOO_DEEP');
    expect(message).toMatch(/path {2}key 0 -> key 1 -> .*\.\.\. \d+ more \.\.\. -> .*key \d+/);
    expect(message.length).toBeLessThan(1200);
    expect(hint).toContain('lazy()');
  });

  it('is reported by verify(), too', () => {
    const { problems } = refusal(() => verify(openApplication(...chain(4000, single))));

    expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(['AMBIT_TOO_DEEP']));
  });
});

describe('a long circular dependency', () => {
  it.each([
    ['singletons', single],
    ['transients', asking],
  ])('of 5,000 services is found, by resolve() and by verify(): %s', (_, make) => {
    const app = openApplication(...chain(5000, make, 'key 0'));
    const error = refusal(() => app.resolve('key 0'));

    expect(error.code).toBe('AMBIT_CYCLE');
    expect(error.path).toHaveLength(5001);
    expect(error.message.length).toBeLessThan(1200);
    expect(refusal(() => verify(app)).problems.map(({ code }) => code)).toEqual(['AMBIT_CYCLE']);
  });
});
