import { describe, expect, it } from 'vitest';
import { hasTag, Registration, scope, singleton } from '../src/index.js';
import { explain, override } from '../src/tools.js';
import { asking } from './support/asking.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const APPLICATION = [['application']];
const REQUEST = [['application'], ['request']];
const perJob = scope(hasTag('job'));

describe('explain', () => {
  it('says the winner, its kind, its lifetime and its owner', () => {
    const app = openApplication(asking().pipe(singleton(), perRequest).to('IAuditLogger'));
    const explanation = explain(openTransaction(openRequest(app)), 'IAuditLogger');

    expect(explanation).toMatchObject({
      key: 'IAuditLogger',
      winner: { kind: 'class', singleton: true, owner: REQUEST },
      rejected: [],
    });
    expect(explanation.winner?.why).toMatch(/^wins\b/);
  });

  it('lists every registration that lost, and why', () => {
    const app = openApplication(
      asking().to('IUsers'),
      Registration.fromFactory(() => 1)
        .pipe(singleton())
        .to('IUsers'),
      asking().pipe(perJob).to('IUsers'),
    );
    const request = openRequest(app).addRegistration(Registration.alias('IOther').to('IUsers'));
    request.register('IUsers', () => 2);
    const { winner, rejected } = explain(request, 'IUsers');

    expect(winner).toMatchObject({ kind: 'register', singleton: false, owner: REQUEST });
    expect(rejected).toHaveLength(4);
    expect(new Set(rejected.map(({ kind, owner, why }) => [kind, owner, why]))).toEqual(
      new Set([
        ['alias', REQUEST, expect.stringMatching(/later/)],
        ['factory', APPLICATION, expect.stringMatching(/nearer/)],
        ['class', APPLICATION, expect.stringMatching(/nearer/)],
        ['class', undefined, expect.stringMatching(/predicate/)],
      ]),
    );
  });

  it.each([['IUnknown'], [''], ['__proto__'], [Symbol('unknown')]])('of the unknown key %s is empty', (key) => {
    const explanation = explain(openRequest(openApplication(asking().to('IUsers'))), key);

    expect(explanation).toMatchObject({ key, winner: undefined, rejected: [] });
    expect(String(explanation)).toMatch(/nothing/);
  });

  it('says that a class without a registration is made all the same', () => {
    class Users {}
    const explanation = explain(openApplication(), Users);

    expect(explanation.winner).toMatchObject({ kind: 'class', singleton: false });
    expect(String(explanation)).toContain('class Users');
    expect(String(explanation)).not.toMatch(/nothing wins/);
  });

  it('sees an override win over all others, while it lasts', () => {
    const app = openApplication(asking().pipe(singleton()).to('IUsers'), asking().pipe(perRequest).to('IUsers'));
    const request = openRequest(app);
    const before = String(explain(request, 'IUsers'));
    const fake = override(app, Registration.fromValue('fake').to('IUsers'));
    const { winner, rejected } = explain(request, 'IUsers');

    expect(winner).toMatchObject({
      kind: 'value',
      owner: APPLICATION,
      why: expect.stringMatching(/override/) as string,
    });
    expect(rejected.map(({ why }) => why)).toEqual([
      expect.stringMatching(/override/) as string,
      expect.stringMatching(/override/) as string,
    ]);

    fake[Symbol.dispose]();

    expect(String(explain(request, 'IUsers'))).toBe(before);
  });

  it('makes nothing', () => {
    let calls = 0;
    const count = () => ++calls;
    const app = openApplication(Registration.fromFactory(count).pipe(singleton()).to('IPool')).register('IUser', count);
    explain(app, 'IPool');
    explain(app, 'IUser');

    expect(calls).toBe(0);
  });

  it('agrees with resolve', () => {
    const tag = (kind: string) => Registration.fromValue(kind);
    const app = openApplication(
      tag('application').to('A'),
      tag('request').pipe(perRequest).to('A'),
      tag('job').pipe(perJob).to('A'),
    );
    const scopes = [
      app,
      openRequest(app),
      openTransaction(openRequest(app)),
      app.createScope({ tags: ['job', 'request'] }),
    ];

    expect(scopes.map((one) => one.resolve('A'))).toEqual(['application', 'request', 'request', 'job']);
    expect(scopes.map((one) => explain(one, 'A').winner?.owner?.at(-1))).toEqual([
      ['application'],
      ['request'],
      ['request'],
      ['job', 'request'],
    ]);
  });
});

describe('an explanation as text', () => {
  it('names the key and the scope, then the winner and the rejected ones, a line each', () => {
    const app = openApplication(asking().to('IUsers'), asking().pipe(singleton(), perRequest).to('IUsers'));
    const [first, ...lines] = String(explain(openRequest(app), 'IUsers')).split('\n');

    expect(first).toContain("'IUsers'");
    expect(first).toContain('[application] > [request]');
    expect(lines).toEqual([
      expect.stringMatching(/singleton class .*\[application\] > \[request\].*wins/),
      expect.stringMatching(/transient class .*\[application\].*rejected/),
    ]);
  });
});
