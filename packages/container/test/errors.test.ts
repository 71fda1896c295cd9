import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { all, ContainerError, decorate, onDispose, onStart, Registration, singleton } from '../src/index.js';
import { verify } from '../src/tools.js';
import { asking, resolving } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction } from './support/scopes.js';

describe('an error of the container', () => {
  it('is one class with a code, the key, the path, the tags and a hint, all of them in its message', () => {
    const app = openApplication(asking('IRepo').to('IOrders'), asking('ISession').to('IRepo'));
    const error = refusal(() => openRequest(app).resolve('IOrders'));

    expect(error).toBeInstanceOf(ContainerError);
    expect(error).toMatchObject({
      name: 'ContainerError',
      code: 'AMBIT_NOT_REGISTERED',
      key: 'ISession',
      path: ['IOrders', 'IRepo', 'ISession'],
      tags: [['application'], ['request']],
      problems: [],
    });
    const words = [error.code, "'ISession'", 'IOrders -> IRepo -> ISession', '[application] > [request]'];
    for (const word of [...words, error.hint]) expect(error.message).toContain(word);
    expect(error.stack).toContain(error.message);
  });

  it('prints each problem once, in its message', () => {
    const app = openApplication(...['A', 'B', 'C'].map((key) => asking(`${key}Missing`).to(key)));
    const error = refusal(() => verify(app));

    expect(error.problems).toHaveLength(3);
    expect(inspect(error).match(/registered under 'AMissing'/g)).toHaveLength(1);
    expect(Object.keys(error)).not.toContain('problems');
  });

  it('names classes, symbols and the empty key so that they are found', () => {
    class Users {}
    const key = Symbol('users');
    const app = openApplication(Registration.fromClass(Users, []).to(Users));

    expect(refusal(() => app.resolve(key)).message).toContain('Symbol(users)');
    expect(refusal(() => app.resolve('')).message).toContain("''");
    expect(refusal(() => app.createScope().addRegistration(asking(Users, key).to('A')).resolve('A')).message).toContain(
      'no tags',
    );
  });
});

describe('the path', () => {
  it.each([
    ['classes', [asking('B').to('A'), asking('C').to('B')], ['A', 'B', 'C']],
    ['a factory', [resolving('B').to('A'), asking('C').to('B')], ['A', 'B', 'C']],
    ['a factory that lists its needs', [Registration.fromFactory((b) => b, ['B']).to('A')], ['A', 'B']],
    ['an alias', [Registration.alias('B').to('A'), asking('C').to('B')], ['A', 'B', 'C']],
    ['all of a key', [asking(all('B')).to('A'), asking('C').to('B')], ['A', 'B', 'C']],
    [
      'a decorator',
      [
        asking()
          .pipe(decorate((_, scope) => scope.resolve('B')))
          .to('A'),
      ],
      ['A', 'B'],
    ],
    [
      'a singleton factory',
      [resolving('B').pipe(singleton()).to('A'), resolving('C').pipe(singleton()).to('B')],
      ['A', 'B', 'C'],
    ],
    [
      'classes, a factory that resolves further, and classes behind it',
      [
        asking('B').to('A'),
        asking('F').pipe(singleton()).to('B'),
        resolving('D').to('F'),
        asking('E').to('D'),
        asking('G').to('E'),
      ],
      ['A', 'B', 'F', 'D', 'E', 'G'],
    ],
    [
      'singletons behind factories behind singletons',
      [
        asking('F').pipe(singleton()).to('A'),
        resolving('B').pipe(singleton()).to('F'),
        asking('C').pipe(singleton()).to('B'),
      ],
      ['A', 'F', 'B', 'C'],
    ],
  ])('leads through %s', (_, registrations, path) => {
    const app = openApplication(...registrations);
    const fromCold = refusal(() => app.resolve('A'));
    const again = refusal(() => app.resolve('A'));

    expect(fromCold.code).toBe('AMBIT_NOT_REGISTERED');
    expect(fromCold.path).toEqual(path);
    expect(again.path).toEqual(path);
  });

  it('leads through a factory that was registered directly', () => {
    const app = openApplication(asking('IMissing').to('IInner'), asking('IDirect').to('IOuter'));
    const request = openRequest(app).register('IDirect', (scope) => scope.resolve('IInner'));

    expect(refusal(() => request.resolve('IOuter')).path).toEqual(['IOuter', 'IDirect', 'IInner', 'IMissing']);
  });

  it('begins at the key that was asked for, whatever failed before', () => {
    const app = openApplication(resolving('IMissing').to('IFirst'), asking('IGone').to('ISecond'));
    refusal(() => app.resolve('IFirst'));

    expect(refusal(() => app.resolve('ISecond')).path).toEqual(['ISecond', 'IGone']);
    expect(refusal(() => app.resolveAll('ISecond')).path).toEqual(['ISecond', 'IGone']);
  });
});

describe('errors of your own', () => {
  const own = new RangeError('too many connections');
  const fail = (): never => {
    throw own;
  };
  class Failing {
    readonly never = fail();
  }
  it.each([
    ['constructor', Registration.fromClass(Failing)],
    ['constructor of a singleton', Registration.fromClass(Failing).pipe(singleton())],
    ['factory', Registration.fromFactory(fail)],
    ['decorator', Registration.fromValue(1).pipe(decorate(fail))],
  ])('from a %s arrive as they are, however deep', (_, registration) => {
    const app = openApplication(
      registration.to('IPool'),
      asking('IPool').to('IUsers'),
      resolving('IUsers').to('IRoot'),
    );
    let caught: unknown;
    try {
      openTransaction(openRequest(app)).resolve('IRoot');
    } catch (error) {
      caught = error;
    }

    expect(caught).toBe(own);
  });

  it('caught inside a factory leave no trace: the keys resolve next, and no circular dependency is seen', () => {
    let broken = true;
    const app = openApplication(
      Registration.fromFactory(() => (broken ? fail() : 'primary'))
        .pipe(singleton())
        .to('IPrimary'),
      Registration.fromFactory((scope) => {
        try {
          return scope.resolve('IPrimary');
        } catch {
          return scope.resolve('IBackup');
        }
      }).to('IStore'),
      Registration.fromValue('backup').to('IBackup'),
      asking('IMissing').to('ILater'),
    );

    expect(app.resolve('IStore')).toBe('backup');
    expect(refusal(() => app.resolve('ILater')).path).toEqual(['ILater', 'IMissing']);

    broken = false;

    expect(app.resolve('IStore')).toBe('primary');
    expect(app.resolve('IPrimary')).toBe('primary');
  });

  it.each([
    ['a symbol', Symbol('odd')],
    ['an object without a prototype', Object.create(null)],
    ['undefined', undefined],
  ])('that are no errors are reported as well: %s', async (_, thrown: unknown) => {
    const reject = () => Promise.reject(thrown);
    const pool = asking().pipe(singleton(), onStart(reject), onDispose(reject));
    const app = openApplication(pool.to('IPool'));

    await expect(app.start()).rejects.toMatchObject({ code: 'AMBIT_START_FAILED', key: 'IPool', cause: thrown });
    await expect(app.dispose()).rejects.toMatchObject({ code: 'AMBIT_DISPOSE_FAILED', errors: [thrown] });
  });
});
