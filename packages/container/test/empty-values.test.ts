import { describe, expect, it } from 'vitest';
import { all, decorate, inject, lazy, Registration, singleton } from '../src/index.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

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
