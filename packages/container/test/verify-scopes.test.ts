import { describe, expect, it } from 'vitest';
import { hasTag, scope, singleton, type Container } from '../src/index.js';
import { explain, verify, type ScopeDeclaration } from '../src/tools.js';
import { asking, request } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const problemsIn = (app: Container, ...scopes: ScopeDeclaration[]) => refusal(() => verify(app, ...scopes)).problems;
const perTransaction = scope(hasTag('transaction'));

describe('a key that is declared as registered directly', () => {
  it('is there for the scopes that promise it and for those below', () => {
    const app = openApplication(
      asking('ISession').pipe(singleton(), perTransaction).to('IOrders'),
      asking('ISession', 'IOrders')
        .pipe(singleton(), scope(hasTag('savepoint')))
        .to('IPart'),
    );
    const savepoint = { tags: ['savepoint'] };
    const transaction = { tags: ['transaction'], registers: ['ISession'], scopes: [savepoint] };

    expect(() => verify(app, { tags: ['request'], scopes: [transaction] })).not.toThrow();
  });

  it('is missing everywhere else', () => {
    const app = openApplication(
      asking('ISession').pipe(singleton(), perTransaction).to('IOrders'),
      asking('ISession')
        .pipe(singleton(), scope(hasTag('job')))
        .to('IReport'),
    );

    expect(problemsIn(app, request, { tags: ['job'] })).toMatchObject([
      { code: 'AMBIT_NOT_REGISTERED', path: ['IReport', 'ISession'], tags: [['application'], ['job']] },
    ]);
  });

  it('wins over a registration that cannot be made', () => {
    const app = openApplication(
      asking('IMissing').pipe(perTransaction).to('ISession'),
      asking('ISession').pipe(singleton(), perTransaction).to('IOrders'),
    );

    expect(problemsIn(app, request).map(({ path }) => path[0])).not.toContain('IOrders');
  });
});

describe('what is made again at each resolve', () => {
  it('is no fault where one declared scope can make it', () => {
    const app = openApplication(asking('ISession').to('IOrders'));

    expect(() => verify(app, request)).not.toThrow();
  });

  it('is one fault where no declared scope can make it', () => {
    const app = openApplication(asking('ISession').to('IOrders'));

    expect(problemsIn(app, { tags: ['request'] }, { tags: ['job'] })).toMatchObject([
      { code: 'AMBIT_NOT_REGISTERED', path: ['IOrders', 'ISession'] },
    ]);
  });
});

describe('a registration that no declared scope accepts', () => {
  const app = openApplication(
    asking()
      .pipe(scope(hasTag('requst')))
      .to('IUsers'),
  );

  it('is reported with the tag it asks for and the tags there are', () => {
    const [problem, ...rest] = problemsIn(app, request);

    expect(rest).toEqual([]);
    expect(problem).toMatchObject({ code: 'AMBIT_UNREACHABLE', key: 'IUsers' });
    for (const tag of ['requst', 'application', 'request', 'transaction']) expect(problem?.hint).toContain(tag);
  });

  it('is distinguished from another of its key', () => {
    const two = openApplication(
      asking().pipe(perRequest).to('IUsers'),
      asking()
        .pipe(scope(hasTag('requst')))
        .to('IUsers'),
    );
    const [problem, ...rest] = problemsIn(two, request);

    expect(rest).toEqual([]);
    expect(problem?.hint).toContain("asks for 'requst';");
  });

  it('is no fault once a scope with the tag is declared, however deep', () => {
    const deep = { tags: ['request'], scopes: [{ tags: ['job'], scopes: [{ tags: ['requst'] }] }] };

    expect(() => verify(app, deep)).not.toThrow();
  });
});

describe('verify', () => {
  it('leaves the container as it was', () => {
    const app = openApplication(asking('ISession').to('IOrders'), asking().pipe(singleton(), perRequest).to('IUsers'));
    const live = openTransaction(openRequest(app)).register('ISession', () => 'first');
    const users = live.resolve('IUsers');
    const before = String(explain(live, 'ISession'));
    verify(app, request, { tags: ['job'], registers: ['IUsers'] });

    expect(live.resolve('IUsers')).toBe(users);
    expect(live.resolve('IOrders')).toMatchObject({ got: ['first'] });
    expect(String(explain(live, 'ISession'))).toBe(before);
    expect(refusal(() => openTransaction(openRequest(app)).resolve('ISession')).code).toBe('AMBIT_NOT_REGISTERED');
    expect(app.addRegistration(asking().to('ILate')).resolve('ILate')).toBeDefined();
    expect(live.resolve('ILate')).toBeDefined();
  });

  it('starts anywhere: a request knows what was registered on it', () => {
    const app = openApplication(asking('IUser').pipe(singleton(), perTransaction).to('IOrders'));
    const live = openRequest(app).register('IUser', () => 'Ada');
    const transaction = { tags: ['transaction'] };

    expect(() => verify(live, transaction)).not.toThrow();
    expect(problemsIn(openRequest(app), transaction)).toMatchObject([{ path: ['IOrders', 'IUser'] }]);
  });
});
