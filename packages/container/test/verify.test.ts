import { describe, expect, it } from 'vitest';
import { all, decorate, hasTag, inject, lazy, Registration, scope, singleton, type Container } from '../src/index.js';
import { verify, type ScopeDeclaration } from '../src/tools.js';
import { asking, request, resolving } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const perTransaction = scope(hasTag('transaction'));
const problemsIn = (app: Container, ...scopes: ScopeDeclaration[]) => refusal(() => verify(app, ...scopes)).problems;

class Unregistered {
  constructor(@inject('IMissing') readonly missing: unknown) {}
}

describe('verify', () => {
  it('reports missing keys, cycles and captive dependencies in every kind of scope at once', () => {
    const app = openApplication(
      asking('IContext').pipe(singleton()).to('ICache'),
      asking().pipe(singleton(), perRequest).to('IContext'),
      asking('IMailer').pipe(singleton(), perRequest).to('IAudit'),
      asking('ILeft').pipe(singleton(), perTransaction).to('IRight'),
      asking('IRight').pipe(singleton(), perTransaction).to('ILeft'),
    );
    const error = refusal(() => verify(app, request));

    expect(error.code).toBe('AMBIT_INVALID');
    expect(new Map(error.problems.map(({ code, path }) => [code, path.join(' -> ')]))).toEqual(
      new Map([
        ['AMBIT_CAPTIVE_DEPENDENCY', 'ICache -> IContext'],
        ['AMBIT_NOT_REGISTERED', 'IAudit -> IMailer'],
        ['AMBIT_CYCLE', 'IRight -> ILeft -> IRight'],
      ]),
    );
    expect(error.problems).toHaveLength(3);
    for (const { message, hint, tags } of error.problems) {
      for (const line of message.split('\n')) expect(error.message).toContain(line.trim());
      expect(hint).toMatch(/\w/);
      expect(tags[0]).toEqual(['application']);
    }
  });

  it('makes nothing and calls no function but predicates', () => {
    let calls = 0;
    const count = () => ++calls;
    class Counted {
      readonly number = count();
    }
    const app = openApplication(
      Registration.fromClass(Counted).pipe(singleton()).to('IClass'),
      Registration.fromFactory(count).to('IFactory'),
      Registration.fromValue(0).pipe(decorate(count)).to('IDecorated'),
      asking('IClass', 'IFactory', 'IDecorated', 'IDirect').to('IAll'),
    ).register('IDirect', count);
    verify(app, request);

    expect(calls).toBe(0);
  });

  it('reports a fault once, however many scopes and services meet it', () => {
    class Keyless {
      constructor(readonly size: number) {}
    }
    const app = openApplication(
      asking('IMissing').pipe(singleton()).to('IPool'),
      Registration.fromClass(Keyless).to('IKeyless'),
      asking('IPool', 'IKeyless').to('IUsers'),
      asking('IPool', 'IKeyless').pipe(singleton(), perRequest).to('IOrders'),
    );

    const codes = problemsIn(app, request).map(({ code }) => code);

    expect(codes.toSorted()).toEqual(['AMBIT_NOT_REGISTERED', 'AMBIT_NO_KEY_FOR_PARAMETER']);
  });

  it('reports a registration that is shadowed, too', () => {
    const app = openApplication(asking('IMissing').to('IUsers'), asking().to('IUsers'));

    expect(problemsIn(app)).toMatchObject([{ code: 'AMBIT_NOT_REGISTERED', path: ['IUsers', 'IMissing'] }]);
  });

  it.each([
    ['an alias', Registration.alias('IMissing')],
    ['a factory that lists what it needs', Registration.fromFactory((missing) => missing, ['IMissing'])],
    ['a lazy', asking(lazy('IMissing'))],
    ['all of a key', asking(all('IRule'))],
    ['a class that is not registered', asking(Unregistered)],
    ['a lazy of a class that is not registered', asking(lazy(Unregistered))],
  ])('looks through %s', (_, registration) => {
    const app = openApplication(registration.to('IRoot'), asking('IRule').to('IUser'), asking('IMissing').to('IRule'));

    expect(problemsIn(app).map(({ key }) => key)).toContain('IMissing');
    expect(problemsIn(app).map(({ path }) => path[0])).toContain('IRoot');
  });

  it('cannot see into a factory: what that resolves is refused when it does', () => {
    const app = openApplication(
      resolving('IContext').pipe(singleton()).to('ICache'),
      asking().pipe(singleton(), perRequest).to('IContext'),
    );
    verify(app, request);

    expect(refusal(() => openRequest(app).resolve('ICache'))).toMatchObject({
      code: 'AMBIT_CAPTIVE_DEPENDENCY',
      key: 'IContext',
      path: ['ICache', 'IContext'],
    });
  });
});
