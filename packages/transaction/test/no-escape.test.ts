import {
  all,
  allowSplit,
  type Binding,
  Container,
  ContainerError,
  decorate,
  type Dependency,
  type Key,
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
const made = (key: string): Registration<unknown> => Registration.fromFactory((got: unknown) => got, [key] as never);
const per = (...tags: readonly string[]) => scope((one) => tags.some((tag) => one.hasTag(tag)));
const poolAs = (key: string): Binding =>
  Registration.fromFactory((): unknown => new FakePool())
    .pipe(singleton())
    .to(key);
const kept = (tag: string, key: Key, ...needs: readonly Dependency[]): Binding =>
  asking(...needs)
    .pipe(singleton(), per(tag))
    .to(key as string);
const alias = (of: string, key: string): Binding => Registration.alias(of).to(key);
const orders = (...needs: readonly Dependency[]): Binding => kept('transaction', 'IOrders', ...needs);
const AUDIT = kept('application', 'IAudit', 'IDatabasePool');
const SCOPES: ScopeDeclaration = { tags: ['request'], scopes: [{ tags: ['transaction'], registers: ['IConnection'] }] };

class Mailer {
  static readonly inject = ['IDatabasePool'] as const;
  readonly pool: unknown;
  constructor(pool: unknown) {
    this.pool = pool;
  }
}
const KEY = Symbol('audit');
const THROUGH_AUDIT = 'IOrders -> IAudit -> IDatabasePool';
const THROUGH_LOG = 'IOrders -> ILog -> IAudit -> IDatabasePool';

/** Graphs in which a service of the transaction reaches the pool, and the way that it takes. */
const ESCAPES: Readonly<
  Record<string, readonly [way: string, registrations: readonly Binding[], scopes?: ScopeDeclaration]>
> = {
  'a service that has the pool itself': ['IOrders -> IDatabasePool', [orders('IDatabasePool')]],
  'one that has the pool and the connection': ['IOrders -> IDatabasePool', [orders('IConnection', 'IDatabasePool')]],
  'one that resolves it later': ['IOrders -> IDatabasePool', [orders(lazy('IDatabasePool'))]],
  'a singleton of the application': [THROUGH_AUDIT, [AUDIT, orders('IAudit')]],
  'a service of the request': [THROUGH_AUDIT, [kept('request', 'IAudit', 'IDatabasePool'), orders('IAudit')]],
  'a transient': [THROUGH_AUDIT, [asking('IDatabasePool').to('IAudit'), orders('IAudit')]],
  'a factory with a list of keys': [
    THROUGH_AUDIT,
    [made('IDatabasePool').pipe(singleton(), per('application')).to('IAudit'), orders('IAudit')],
  ],
  'a factory of the transaction': [
    THROUGH_AUDIT,
    [AUDIT, made('IAudit').pipe(singleton(), per('transaction')).to('IOrders')],
  ],
  'two services': [THROUGH_LOG, [AUDIT, kept('request', 'ILog', 'IAudit'), orders('ILog')]],
  'a transient before a singleton': [THROUGH_LOG, [AUDIT, asking('IAudit').to('ILog'), orders('ILog')]],
  'a lazy service': [THROUGH_AUDIT, [AUDIT, orders(lazy('IAudit'))]],
  'an optional service': [THROUGH_AUDIT, [AUDIT, orders(optional('IAudit'))]],
  'one of several services': [
    'IOrders -> IRule -> IDatabasePool',
    [kept('application', 'IRule'), kept('application', 'IRule', 'IDatabasePool'), orders(all('IRule'))],
  ],
  'an alias of the pool': ['IOrders -> db -> IDatabasePool', [alias('IDatabasePool', 'db'), orders('db')]],
  'an alias of the service': [THROUGH_LOG, [AUDIT, alias('IAudit', 'ILog'), orders('ILog')]],
  'the pool that has two names': [
    'IOrders -> IPool',
    [poolAs('IPool'), alias('IPool', 'IDatabasePool'), orders('IPool')],
  ],
  'a class as its key': ['IOrders -> Mailer -> IDatabasePool', [orders(Mailer)]],
  'a symbol as its key': [
    'IOrders -> Symbol(audit) -> IDatabasePool',
    [kept('application', KEY, 'IDatabasePool'), orders(KEY)],
  ],
  'a decorated service': [
    THROUGH_AUDIT,
    [
      asking('IDatabasePool')
        .pipe(
          singleton(),
          decorate((one) => one),
        )
        .to('IAudit'),
      orders('IAudit'),
    ],
  ],
  'a service with both lifetimes, whose logger has one': [
    THROUGH_AUDIT,
    [AUDIT, asking('IAudit').pipe(singleton(), per('request', 'transaction')).to('IOrders')],
  ],
  'a transaction that a job begins': [
    THROUGH_AUDIT,
    [AUDIT, orders('IAudit')],
    { tags: ['job'], scopes: [{ tags: ['transaction'], registers: ['IConnection'] }] },
  ],
  'a transaction on another database': [
    'IOrders -> IAudit -> IReportsPool',
    [poolAs('IReportsPool'), kept('application', 'IAudit', 'IReportsPool'), orders('IAudit')],
    { tags: ['transaction'], registers: ['IReportsConnection'], requires: ['IReportsPool'] },
  ],
};

function problemsOf(
  registrations: readonly Binding[],
  ...scopes: readonly (ScopeDeclaration | VerifyOptions)[]
): string[] {
  const own = registrations.some(({ key }) => key === 'IDatabasePool') ? [] : [poolAs('IDatabasePool')];
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
    const meant = asking('IDatabasePool').pipe(singleton(), allowSplit()).to('IAudit');
    expect(problemsOf([meant, orders('IAudit')], SCOPES, { noEscape: true })).toEqual([]);
  });
});
