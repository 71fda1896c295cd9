import { describe, expect, it } from 'vitest';
import { all, hasTag, lazy, Registration, scope, singleton, type Binding, type Container } from '../src/index.js';
import { verify, type ScopeDeclaration } from '../src/tools.js';
import { asking, request } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const problemsIn = (app: Container, ...scopes: ScopeDeclaration[]) => refusal(() => verify(app, ...scopes)).problems;
const context = asking().pipe(singleton(), perRequest).to('IContext');

/** Both keys and both lifetimes stand in the message, each once at least. */
function expectCapture(message: string, holder: string, held: string, ...lifetimes: string[]): void {
  for (const words of [`'${holder}'`, `'${held}'`, ...lifetimes]) expect(message).toContain(words);
}

describe('a captive dependency', () => {
  it.each([
    ['directly', asking('IContext').pipe(singleton()).to('ICache'), ['ICache', 'IContext']],
    ['through a transient', asking('IUser').pipe(singleton()).to('ICache'), ['ICache', 'IUser', 'IContext']],
    ['through an alias', asking('ISame').pipe(singleton()).to('ICache'), ['ICache', 'ISame', 'IContext']],
    ['through all of a key', asking(all('IUser')).pipe(singleton()).to('ICache'), ['ICache', 'IUser', 'IContext']],
  ])('names both keys, both lifetimes and the path when it is captured %s', (_, cache, path) => {
    const alias = Registration.alias('IContext').to('ISame');
    const app = openApplication(cache, asking('IContext').to('IUser'), alias, context);
    const [problem, ...rest] = problemsIn(app, request);

    expect(rest).toEqual([]);
    expect(problem).toMatchObject({ code: 'AMBIT_CAPTIVE_DEPENDENCY', key: 'IContext', path, tags: [['application']] });
    expectCapture(problem?.message ?? '', 'ICache', 'IContext', '[application]', '[application] > [request]');
  });

  it('blames the nearest singleton, once, though others hold that one', () => {
    const app = openApplication(
      asking('IUser').pipe(singleton()).to('ICache'),
      asking('IContext').pipe(singleton()).to('IUser'),
      context,
    );
    const [problem, ...rest] = problemsIn(app, request);

    expect(rest).toEqual([]);
    expectCapture(problem?.message ?? '', 'IUser', 'IContext', '[application]', '[application] > [request]');
    expect(problem?.hint).not.toContain('ICache');
  });

  it('may be asked for later, by way of a service that is not kept', () => {
    const app = openApplication(
      asking(lazy('IOrders')).pipe(singleton()).to('ISchedule'),
      asking('ISession').to('IOrders'),
    );

    expect(problemsIn(app, request)).toMatchObject([
      { code: 'AMBIT_CAPTIVE_DEPENDENCY', path: ['ISchedule', 'IOrders', 'ISession'], tags: [['application']] },
    ]);
  });

  it('is none where the other lifetime is beside it, not within', () => {
    const app = openApplication(
      asking('IAudit').pipe(singleton(), perRequest).to('IUsers'),
      asking()
        .pipe(singleton(), scope(hasTag('job')))
        .to('IAudit'),
    );

    expect(problemsIn(app, { tags: ['request'] }, { tags: ['job'] })).toMatchObject([
      { code: 'AMBIT_OUT_OF_SCOPE', path: ['IUsers', 'IAudit'], tags: [['application'], ['request']] },
    ]);
  });

  it.each([
    ['the application', openApplication],
    ['a request', (...registrations: Binding[]) => openRequest(openApplication(...registrations))],
  ])('is refused by resolve with the same code, when %s asks', (_, open) => {
    const asker = open(asking('IContext').pipe(singleton()).to('ICache'), context);
    const error = refusal(() => asker.resolve('ICache'));

    expect(error).toMatchObject({ code: 'AMBIT_CAPTIVE_DEPENDENCY', key: 'IContext', path: ['ICache', 'IContext'] });
    expectCapture(error.message, 'ICache', 'IContext', 'application', 'request');
  });
});
