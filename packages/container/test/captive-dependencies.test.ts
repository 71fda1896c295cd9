import { describe, expect, it } from 'vitest';
import {
  all,
  allowSplit,
  type Binding,
  type Container,
  hasTag,
  lazy,
  lifetimes,
  optional,
  Registration,
  scope,
  singleton,
} from '../src/index.js';
import { explain, type ScopeDeclaration, verify } from '../src/tools.js';
import { asking, request } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest, perTransaction } from './support/scopes.js';

const problemsIn = (app: Container, ...scopes: ScopeDeclaration[]) => refusal(() => verify(app, ...scopes)).problems;
const context = asking().pipe(singleton(), perRequest).to('IContext');

/** Both keys and both lifetimes stand in the message, each once at least. */
function expectCapture(message: string, holder: string, held: string, ...tags: string[]): void {
  for (const words of [`'${holder}'`, `'${held}'`, ...tags]) expect(message).toContain(words);
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

const pool = Registration.fromFactory(() => 'pool').pipe(singleton(), perRequest);
const connection = Registration.fromFactory(() => 'connection').pipe(singleton(), perTransaction);
const users = asking('db').pipe(singleton(), perRequest);

const splits = (...registrations: Parameters<typeof openApplication>) => {
  try {
    verify(openApplication(...registrations), request);
    return [];
  } catch {
    return refusal(() => verify(openApplication(...registrations), request))
      .problems.filter(({ code }) => code === 'AMBIT_SPLIT_KEY')
      .map(({ path }) => path.map(String).join(' -> '));
  }
};

describe('a service of the request whose dependency the transaction registers again', () => {
  it('gets that of the request also in the transaction, which verify() reports', () => {
    const app = openApplication(pool.to('db'), connection.to('db'), users.to('IUsers'));
    const transaction = openTransaction(openRequest(app));

    expect(transaction.resolve('db')).toBe('connection');
    expect(transaction.resolve('IUsers')).toMatchObject({ got: ['pool'] });
    expect(refusal(() => verify(app, request)).problems).toMatchObject([
      { code: 'AMBIT_SPLIT_KEY', key: 'IUsers', path: ['IUsers', 'db'], tags: [['application'], ['request']] },
    ]);
  });

  it('passes when it is registered for both, and is reported for who depends on it', () => {
    const both = [users.to('IUsers'), asking('db').pipe(singleton(), perTransaction).to('IUsers')];

    expect(splits(pool.to('db'), connection.to('db'), ...both)).toEqual([]);
    expect(
      splits(
        pool.to('db'),
        connection.to('db'),
        ...both,
        asking('IUsers').pipe(singleton(), perRequest).to('IAccounts'),
      ),
    ).toEqual(['IAccounts -> IUsers']);
  });

  it('is reported through the transients and aliases between them', () => {
    expect(
      splits(
        pool.to('db'),
        connection.to('db'),
        Registration.alias('db').to('IDatabase'),
        asking('IDatabase').to('IQueries'),
        asking('IQueries').pipe(singleton(), perRequest).to('IUsers'),
      ),
    ).toEqual(['IUsers -> IQueries -> IDatabase -> db']);
  });

  it('is reported through the transients of a list', () => {
    expect(
      splits(
        pool.to('db'),
        connection.to('db'),
        Registration.fromFactory(() => 'first').to('IRule'),
        asking('db').to('IRule'),
        asking(all('IRule')).pipe(singleton(), perRequest).to('IUsers'),
      ),
    ).toEqual(['IUsers -> IRule -> db']);
  });

  it.each([
    ['lazy', asking(lazy('db')), ['IUsers -> db']],
    ['optional', asking(optional('db')), ['IUsers -> db']],
    ['all: the inner scope adds to the list', asking(all('db')), []],
  ])('%s', (_, registration, reported) => {
    expect(splits(pool.to('db'), connection.to('db'), registration.pipe(singleton(), perRequest).to('IUsers'))).toEqual(
      reported,
    );
  });

  it('passes with allowSplit() on the service, or on what the inner scope registers', () => {
    expect(splits(pool.to('db'), connection.to('db'), users.pipe(allowSplit()).to('IUsers'))).toEqual([]);
    expect(splits(pool.to('db'), connection.pipe(allowSplit()).to('db'), users.to('IUsers'))).toEqual([]);
    expect(splits(pool.pipe(allowSplit()).to('db'), connection.to('db'), users.to('IUsers'))).toEqual(['IUsers -> db']);
  });

  it('is explained in the transaction', () => {
    const app = openApplication(pool.to('db'), connection.to('db'), users.to('IUsers'));
    const inRequest = openRequest(app);

    expect(String(explain(openTransaction(inRequest), 'IUsers'))).toContain(
      "its 'db' is that of [application] > [request], although [application] > [request] > [transaction] has its own",
    );
    expect(String(explain(inRequest, 'IUsers'))).not.toContain('although');
  });

  it('of a typed graph: the hint says how to serve both lifetimes', () => {
    const { make, of, build } = lifetimes('application', 'request', 'transaction');
    class Users {
      readonly db: string;
      constructor(db: string) {
        this.db = db;
      }
    }
    const app = build({
      db: [make('request', () => 'pool'), make('transaction', () => 'connection')],
      IUsers: of('request', Users, ['db']),
    });

    const { problems } = refusal(() => verify(openApplication(...app.registrations), ...app.scopes));
    expect(problems.map(({ hint }) => hint)).toEqual([expect.stringContaining("['request', 'transaction']")]);
  });
});
