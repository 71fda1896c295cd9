import {
  all,
  allowSplit,
  type Binding,
  Container,
  ContainerError,
  decorate,
  type Dependency,
  hasTag,
  lazy,
  lifetimes,
  optional,
  Registration,
  scope,
  singleton,
} from '@ambit/container';
import { type ScopeDeclaration, verify, type VerifyOptions } from '@ambit/container/tools';
import { describe, expect, it } from 'vitest';
import type { IConnection, IDatabasePool } from '../src/index.js';
import { FakePool } from '../src/testing/index.js';

const asking = (...needs: readonly Dependency[]): Registration<unknown> =>
  Registration.fromClass(
    class Asking {
      readonly got: readonly unknown[];
      constructor(...got: readonly unknown[]) {
        this.got = got;
      }
    },
    needs,
  );
const made = (...keys: readonly string[]): Registration<unknown> =>
  Registration.fromFactory((...got: readonly unknown[]) => got, keys as never);
const per = (...tags: readonly string[]) => scope((one) => tags.some((tag) => one.hasTag(tag)));

const POOL = Registration.fromFactory(() => new FakePool())
  .pipe(singleton())
  .to('IDatabasePool');
const orders = (...needs: readonly Dependency[]): Binding =>
  asking(...needs)
    .pipe(singleton(), per('transaction'))
    .to('IOrders');
const AUDIT = asking('IDatabasePool').pipe(singleton(), per('application')).to('IAudit');

const SCOPES: ScopeDeclaration = { tags: ['request'], scopes: [{ tags: ['transaction'], registers: ['IConnection'] }] };
const REPORTS = { registers: ['IReportsConnection'], requires: ['IReportsPool'] };

class Mailer {
  static readonly inject = ['IDatabasePool'] as const;
  readonly pool: unknown;
  constructor(pool: unknown) {
    this.pool = pool;
  }
}
const KEY = Symbol('audit');

/** Graphs in which a service of the transaction reaches the pool, and the way that it takes. */
const ESCAPES: Readonly<
  Record<string, readonly [way: string, registrations: readonly Binding[], scopes?: ScopeDeclaration]>
> = {
  'a service that has the pool itself': ['IOrders -> IDatabasePool', [orders('IDatabasePool')]],
  'one that has the pool and the connection': ['IOrders -> IDatabasePool', [orders('IConnection', 'IDatabasePool')]],
  'one that makes others later': ['IOrders -> IDatabasePool', [orders(lazy('IDatabasePool'))]],
  'a singleton of the application': ['IOrders -> IAudit -> IDatabasePool', [AUDIT, orders('IAudit')]],
  'a service of the request': [
    'IOrders -> IAudit -> IDatabasePool',
    [asking('IDatabasePool').pipe(singleton(), per('request')).to('IAudit'), orders('IAudit')],
  ],
  'a transient': ['IOrders -> IAudit -> IDatabasePool', [asking('IDatabasePool').to('IAudit'), orders('IAudit')]],
  'a factory with a list of keys': [
    'IOrders -> IAudit -> IDatabasePool',
    [made('IDatabasePool').pipe(singleton(), per('application')).to('IAudit'), orders('IAudit')],
  ],
  'a factory of the transaction': [
    'IOrders -> IAudit -> IDatabasePool',
    [AUDIT, made('IAudit').pipe(singleton(), per('transaction')).to('IOrders')],
  ],
  'two services': [
    'IOrders -> ILog -> IAudit -> IDatabasePool',
    [AUDIT, asking('IAudit').pipe(singleton(), per('request')).to('ILog'), orders('ILog')],
  ],
  'a transient before a singleton': [
    'IOrders -> ILog -> IAudit -> IDatabasePool',
    [AUDIT, asking('IAudit').to('ILog'), orders('ILog')],
  ],
  'a lazy service': ['IOrders -> IAudit -> IDatabasePool', [AUDIT, orders(lazy('IAudit'))]],
  'an optional service': ['IOrders -> IAudit -> IDatabasePool', [AUDIT, orders(optional('IAudit'))]],
  'one of several services': [
    'IOrders -> IRule -> IDatabasePool',
    [
      asking().pipe(singleton(), per('application')).to('IRule'),
      asking('IDatabasePool').pipe(singleton(), per('application')).to('IRule'),
      orders(all('IRule')),
    ],
  ],
  'an alias of the pool': [
    'IOrders -> db -> IDatabasePool',
    [Registration.alias('IDatabasePool').to('db'), orders('db')],
  ],
  'an alias of the service': [
    'IOrders -> ILog -> IAudit -> IDatabasePool',
    [AUDIT, Registration.alias('IAudit').to('ILog'), orders('ILog')],
  ],
  'the pool that has two names': [
    'IOrders -> IPool',
    [
      Registration.fromFactory(() => new FakePool())
        .pipe(singleton())
        .to('IPool'),
      Registration.alias<FakePool>('IPool').to('IDatabasePool'),
      orders('IPool'),
    ],
  ],
  'a class as its key': ['IOrders -> Mailer -> IDatabasePool', [orders(Mailer)]],
  'a symbol as its key': [
    'IOrders -> Symbol(audit) -> IDatabasePool',
    [asking('IDatabasePool').pipe(singleton()).to(KEY), orders(KEY)],
  ],
  'a decorated service': [
    'IOrders -> IAudit -> IDatabasePool',
    [
      asking('IDatabasePool')
        .pipe(
          singleton(),
          per('application'),
          decorate((one) => one),
        )
        .to('IAudit'),
      orders('IAudit'),
    ],
  ],
  'a service with both lifetimes, whose logger has one': [
    'IOrders -> IAudit -> IDatabasePool',
    [AUDIT, asking('IAudit').pipe(singleton(), per('request', 'transaction')).to('IOrders')],
  ],
  'a transaction that a job begins': [
    'IOrders -> IAudit -> IDatabasePool',
    [AUDIT, orders('IAudit')],
    { tags: ['job'], scopes: [{ tags: ['transaction'], registers: ['IConnection'] }] },
  ],
  'a transaction on another database': [
    'IOrders -> IAudit -> IReportsPool',
    [
      Registration.fromFactory(() => new FakePool())
        .pipe(singleton())
        .to('IReportsPool'),
      asking('IReportsPool').pipe(singleton()).to('IAudit'),
      orders('IAudit'),
    ],
    { tags: ['transaction'], ...REPORTS },
  ],
};

function problemsOf(
  registrations: readonly Binding[],
  ...scopes: readonly (ScopeDeclaration | VerifyOptions)[]
): string[] {
  const own = registrations.some(({ key }) => key === 'IDatabasePool') ? [] : [POOL];
  const app = new Container({ tags: ['application'] }).addRegistration(...own, ...registrations);
  try {
    verify(app, ...scopes);
    return [];
  } catch (error) {
    if (!(error instanceof ContainerError)) throw error;
    return error.problems.map(({ message }) => message.split('\n')[0] ?? '');
  }
}

describe('verify() with noEscape', () => {
  it.each(Object.entries(ESCAPES))('finds %s', (_name, [way, registrations, scopes = SCOPES]) => {
    const last = way.split(' -> ').findLast((key) => !/Pool$|^db$/.test(key));
    const said = way.includes('IReportsPool')
      ? `${last} works outside of the scope of IOrders`
      : `what ${last} writes stays when the transaction of IOrders rolls back`;
    expect(problemsOf(registrations, scopes, { noEscape: true })).toEqual([`${way}: ${said}`]);
    expect(problemsOf(registrations, scopes)).toEqual([]);
  });

  it('finds nothing where the service has the connection, and beside the transaction', () => {
    const db = [
      Registration.alias('IDatabasePool').pipe(per('request')).to('db'),
      Registration.alias('IConnection').pipe(per('transaction')).to('db'),
    ];
    const both = asking('db').pipe(singleton(), per('request', 'transaction')).to('IAudit');
    expect(problemsOf([...db, both, orders('IAudit', 'IConnection')], SCOPES, { noEscape: true })).toEqual([]);
  });

  it('finds it in a graph that the compiler has checked', () => {
    const { of, make, registered, build } = lifetimes('application', 'request', 'transaction');
    class Audit {
      constructor(readonly pool: IDatabasePool) {}
    }
    class Orders {
      constructor(
        readonly connection: IConnection,
        readonly audit: Audit,
      ) {}
    }
    const { registrations, scopes } = build({
      IDatabasePool: make('application', (): IDatabasePool => new FakePool()),
      IConnection: registered('transaction').as<IConnection>(),
      IAudit: of('application', Audit, ['IDatabasePool']),
      IOrders: of('transaction', Orders, ['IConnection', 'IAudit']),
    });
    const app = new Container({ tags: ['application'] }).addRegistration(...registrations);
    expect(() => verify(app, ...scopes, { noEscape: true })).toThrow(
      'IOrders -> IAudit -> IDatabasePool: what IAudit writes stays',
    );
    expect(() => verify(app, ...scopes, { noEscape: { allow: ['IAudit'] } })).not.toThrow();
  });

  it('lets those pass who mean it', () => {
    const graph = [AUDIT, orders('IAudit')];
    expect(problemsOf(graph, SCOPES, { noEscape: { allow: ['IAudit'] } })).toEqual([]);
    expect(problemsOf(graph, SCOPES, { noEscape: { allow: ['ILog'] } })).toHaveLength(1);
    const meant = asking('IDatabasePool')
      .pipe(singleton(), scope(hasTag('application')), allowSplit())
      .to('IAudit');
    expect(problemsOf([meant, orders('IAudit')], SCOPES, { noEscape: true })).toEqual([]);
  });
});
