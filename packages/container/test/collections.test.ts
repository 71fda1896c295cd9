import { describe, expect, it } from 'vitest';
import { hasTag, Registration, scope, singleton } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const perTransaction = scope(hasTag('transaction'));
const value = (name: string) => Registration.fromValue(name);
/** A registration of each kind and lifetime, all of which make the name. */
const kinds = [
  value,
  (name: string) => Registration.fromFactory(() => name),
  (name: string) => Registration.fromFactory(() => name).pipe(singleton()),
  (name: string) => value(name).pipe(perRequest),
  (name: string) => Registration.fromFactory(() => name).pipe(singleton(), perRequest),
  (name: string) => Registration.fromFactory(() => name).pipe(perRequest),
];

describe('resolveAll', () => {
  it('gives none, one or several', () => {
    const app = openApplication(value('a').to('one'), value('a').to('two'), value('b').to('two'));
    expect(['none', 'one', 'two'].map((key) => app.resolveAll(key))).toEqual([[], ['a'], ['a', 'b']]);
  });

  it('is in the order of registration, whatever kind and lifetime they are', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (let turn = 0; turn < kinds.length; turn++) {
      const hooks = names.map((name, i) => kinds[(i + turn) % kinds.length]!(name).to('IHook'));
      const request = openRequest(openApplication(...hooks));

      expect(request.resolveAll('IHook')).toEqual(names);
      expect(openTransaction(request).resolveAll('IHook')).toEqual(names);
    }
  });

  it.each([['resolve first'], ['resolveAll first']])('gives the same singletons as resolve: %s', (order) => {
    const hook = Registration.fromFactory(() => ({}));
    const app = openApplication(hook.to('IHook'), hook.pipe(singleton(), perRequest).to('IHook'));
    const request = openRequest(app);
    const early = order === 'resolve first' ? request.resolve('IHook') : request.resolveAll('IHook').at(-1);

    expect(request.resolveAll('IHook').at(-1)).toBe(early);
    expect(request.resolve('IHook')).toBe(early);
  });

  it('gives three singletons when a class is registered three times, and resolve gives the last', () => {
    class Hook {}
    const hook = () => Registration.fromClass(Hook).pipe(singleton()).to('IHook');
    const app = openApplication(hook(), hook(), hook());
    const hooks = app.resolveAll('IHook');

    expect(new Set(hooks).size).toBe(3);
    expect(app.resolve('IHook')).toBe(hooks[2]);
    expect(app.resolveAll('IHook').every((each, i) => each === hooks[i])).toBe(true);
  });

  it('makes transients again each time', () => {
    const app = openApplication(Registration.fromFactory(() => ({})).to('IHook'));
    expect(app.resolveAll('IHook')[0]).not.toBe(app.resolveAll('IHook')[0]);
  });

  it('gives a list of its own to each caller', () => {
    const app = openApplication(value('a').to('IHook'));
    app.resolveAll('IHook').push('mine');
    app.resolveAll('none').push('mine');

    expect(app.resolveAll('IHook')).toEqual(['a']);
    expect(app.resolveAll('none')).toEqual([]);
  });

  it('goes from the outermost scope inward: the application’s, then the request’s, then the transaction’s', () => {
    const app = openApplication(value('application').to('IHook'));
    const request = openRequest(app).addRegistration(value('request').to('IHook'));
    const transaction = openTransaction(request).addRegistration(value('transaction').to('IHook'));

    expect(transaction.resolveAll('IHook')).toEqual(['application', 'request', 'transaction']);
    expect(request.resolveAll('IHook')).toEqual(['application', 'request']);
    expect(openTransaction(request).resolveAll('IHook')).toEqual(['application', 'request']);
    expect(app.resolveAll('IHook')).toEqual(['application']);
    expect(openRequest(app).resolveAll('IHook')).toEqual(['application']);
  });

  it('goes by where a registration was added, not by who owns what it makes', () => {
    const app = openApplication(value('first').pipe(perTransaction).to('IHook'), value('second').to('IHook'));
    const request = openRequest(app).addRegistration(value('third').pipe(perTransaction).to('IHook'));
    request.addRegistration(value('fourth').to('IHook'));

    expect(openTransaction(request).resolveAll('IHook')).toEqual(['first', 'second', 'third', 'fourth']);
  });

  it('has a registration once, from the nearer of two scopes that match', () => {
    const hook = Registration.fromFactory(() => ({})).pipe(
      singleton(),
      scope(() => true),
    );
    const app = openApplication(hook.to('IHook'));
    const inner = openRequest(openRequest(app));

    expect(inner.resolveAll('IHook')).toHaveLength(1);
    expect(inner.resolveAll('IHook')[0]).toBe(inner.resolve('IHook'));
    expect(inner.resolveAll('IHook')[0]).not.toBe(app.resolve('IHook'));
  });

  it('leaves out what does not apply', () => {
    const app = openApplication(
      value('all').to('IHook'),
      value('request').pipe(perRequest).to('IHook'),
      value('transaction').pipe(perTransaction).to('IHook'),
      value('request').pipe(perRequest).to('IRequestHook'),
    );
    const request = openRequest(app);

    expect(app.resolveAll('IHook')).toEqual(['all']);
    expect(app.resolveAll('IRequestHook')).toEqual([]);
    expect(request.resolveAll('IHook')).toEqual(['all', 'request']);
    expect(openTransaction(request).resolveAll('IHook')).toEqual(['all', 'request', 'transaction']);
  });

  it('has a key registered directly at the place of its scope', () => {
    const app = openApplication(value('application').to('IHook'));
    const request = openRequest(app)
      .addRegistration(value('request').to('IHook'))
      .register('IHook', () => 'directly');
    const transaction = openTransaction(request).addRegistration(value('transaction').to('IHook'));

    expect(request.resolveAll('IHook')).toEqual(['application', 'request', 'directly']);
    expect(transaction.resolveAll('IHook')).toEqual(['application', 'request', 'directly', 'transaction']);
  });

  it('has a key registered directly once, however often it was', () => {
    const request = openRequest(openApplication());
    for (const name of ['first', 'second', 'third']) request.register('IHook', () => name);

    expect(request.resolveAll('IHook')).toEqual(['third']);
  });

  it('fails as a whole with one member, and names the path', () => {
    const broken = Registration.fromFactory((missing) => missing, ['IMissing']);
    const app = openApplication(value('a').to('IHook'), broken.to('IHook'), value('c').to('IHook'));

    const error = refusal(() => app.resolveAll('IHook'));
    expect(error).toMatchObject({ code: 'AMBIT_NOT_REGISTERED', path: ['IHook', 'IMissing'] });
  });
});
