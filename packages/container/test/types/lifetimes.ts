import { all, lazy, lifetimes, onStart, decorate, optional, type Services } from '@ambit/container';
import { exactly } from './services.js';

const { of, make, value, alias, registered, feature, build } = lifetimes('application', 'request', 'transaction');

class Pool {
  constructor(readonly url: string) {}
}
class Context {
  readonly id = 1;
}
class Users {
  constructor(
    readonly pool: Pool,
    readonly context?: Context,
  ) {}
}
class Orders {
  constructor(
    readonly users: Users,
    readonly connection: { readonly open: true },
    ...others: readonly number[]
  ) {}
}
class Health {
  static readonly inject = ['IPool'] as const;
  constructor(readonly pool: Pool) {}
}
class Unlisted {
  static readonly inject = ['IPool'];
  constructor(readonly pool: Pool) {}
}

const infra = feature('infra', {
  url: value('postgres://localhost'),
  IPool: make('application', (url: string) => new Pool(url), ['url']).pipe(onStart((pool) => pool.url)),
});

const app = build({
  ...infra,
  IContext: of('request', Context),
  IUsers: of('request', Users, ['IPool', 'IContext']),
  IOther: of('request', Users, ['IPool']),
  IConnection: registered('transaction').as<{ readonly open: true }>(),
  IOrders: of('transaction', Orders, ['IUsers', 'IConnection']),
  IMore: of('transaction', Orders, ['IUsers', 'IConnection', 'count']),
  IHealth: of('application', Health),
  count: [make('application', () => 1), make('transaction', () => 2)],
  IAll: make(
    'request',
    (counts: number[], users: () => Users, none: string | undefined) => `${counts.length}${users().pool.url}${none}`,
    [all('count'), lazy('IUsers'), optional('nothing')],
  ),
  people: alias('IUsers'),
  ITransient: of('application', Context).transient(),
  IDecorated: of('application', Context).pipe(decorate((inner) => ({ inner }))),
  IAsync: make('application', async () => 1),
  byScope: make('request', (scope) => scope.resolve<number>('count')),
});

declare const services: Services<typeof app>;
exactly<Users>()(services.IUsers)(true);
exactly<Users>()(services.people)(true);
exactly<number>()(services.count)(true);
exactly<string>()(services.IAll)(true);
exactly<{ inner: Context }>()(services.IDecorated)(true);
exactly<Promise<number>>()(services.IAsync)(true);

export const wrong = build({
  ...infra,
  IContext: of('request', Context),
  // error: 'nope' is not registered
  missing: of('application', Users, ['nope']),
  // error: captive dependency: 'IContext' is request-scoped, and is disposed before this application service
  captive: of('application', Users, ['IPool', 'IContext']),
  // error: 'url' does not fit parameter 0
  misfit: of('request', Users, ['url']),
  // error: parameter 0 has no key
  short: of('request', Users, []),
  // error: there is no parameter 2
  long: of('request', Users, ['IPool', 'IContext', 'url']),
  // error: list the keys of its parameters: of(lifetime, Class, [keys])
  unlisted: of('request', Users),
  // error: add `as const` to its static inject
  notConst: of('request', Unlisted),
  // error: not an entry of a graph
  five: 5,
  // error: 'nope' is not registered
  other: alias('nope'),
  // error: captive dependency: 'IContext' is request-scoped
  several: [make('application', (context: Context) => context.id, ['IContext'])],
  // error: captive dependency: 'IContext'
  late: make('application', (context: () => Context) => context().id, [lazy('IContext')]),
  // error: captive dependency: 'IContext'
  maybe: make('application', (context?: Context) => context?.id, [optional('IContext')]),
});

// One entry serves several lifetimes: what it needs is available in each.
class Accounts {
  constructor(readonly db: { readonly name: string }) {}
}
class Transfers {
  constructor(readonly accounts: Accounts) {}
}
const several = build({
  IPool: value({ name: 'pool', end: () => 1 }),
  IConnection: registered('transaction').as<{ readonly name: string; readonly open: true }>(),
  db: alias({ request: 'IPool', transaction: 'IConnection' }),
  IAccounts: of(['request', 'transaction'], Accounts, ['db']),
  ITransfers: of(['request', 'transaction'], Transfers, ['IAccounts']),
  source: make(['request', 'transaction'], (db: { readonly name: string }) => db.name, ['db']),
  byScope: make(['request', 'transaction'], () => 1),
  ISignal: registered(['request', 'transaction']).as<AbortSignal>(),
  IWatch: make('request', (signal: AbortSignal) => signal, ['ISignal']),
  IOrder: of('transaction', Accounts, ['db']),
});
declare const ofSeveral: Services<typeof several>;
exactly<Accounts>()(ofSeveral.IAccounts)(true);
exactly<Services<typeof several>['IPool'] | Services<typeof several>['IConnection']>()(ofSeveral.db)(true);
exactly<string>()(ofSeveral.source)(true);
build({
  IPool: value({ name: 'pool' }),
  IConnection: registered('transaction').as<{ readonly name: string }>(),
  IContext: of('request', Context),
  db: alias({ request: 'IPool', transaction: 'IConnection' }),
  // error: captive dependency: 'IConnection' is transaction-scoped, and is disposed before this request service
  IAccounts: of(['request', 'transaction'], Accounts, ['IConnection']),
  // error: captive dependency: 'IContext' is request-scoped, and is disposed before this application service
  IThree: make(['application', 'request', 'transaction'], (context: Context) => context, ['IContext']),
  // error: captive dependency: 'db' is
  IFour: of(['application', 'request'], Accounts, ['db']),
  // error: 'nope' is not registered
  IFive: of(['request', 'transaction'], Accounts, ['nope']),
  // error: captive dependency: 'IConnection' is transaction-scoped, and is disposed before this request service
  wrongWay: alias({ request: 'IConnection', transaction: 'IPool' }),
  // error: 'nope' is not registered
  nowhere: alias({ request: 'IPool', transaction: 'nope' }),
  // error: 'requets' is no lifetime
  misspelt: alias({ request: 'IPool', requets: 'IPool' }),
  // error: does not fit parameter 0
  ISix: of(['request', 'transaction'], Transfers, ['db']),
});
// error: is not assignable to
of(['request', 'requets'], Context);

build({
  IContext: of('request', Context),
  other: alias('IContext'),
  // An alias is in all scopes, so that its service has to be, too.
  // error: captive dependency: 'IContext' is request-scoped
  aliased: make('application', (contexts: Context[]) => contexts, [all('other')]),
  there: make('application', (contexts: Context[]) => contexts, [all('IContext')]),
});

// A key that features share is an error, unless they say how.
class Clock {
  now() {
    return 0;
  }
}
class FixedClock extends Clock {}
const clocks = { IClock: of('application', Clock), rule: make('application', () => 'first') };
export const features = build(
  infra,
  clocks,
  { IClock: of('application', FixedClock).override(), rule: make('request', () => 'second').also() },
  { IUser: make('transaction', (clock: Clock, pool: Pool) => ({ clock, pool }), ['IClock', 'IPool']) },
);
// error: an earlier feature registers 'IClock': say .override() to replace it, or .also() to add to it
build(clocks, { IClock: of('application', Clock) });
// Several are replaced by several of the same lifetimes.
const units = { unit: [make('request', () => 1), make('transaction', () => 2)] };
build(units, { unit: [make('request', () => 3).override(), make('transaction', () => 4).override()] });
build(units, { unit: make(['request', 'transaction'], () => 3).override() });
build(
  { unit: make(['request', 'transaction'], () => 1) },
  { unit: [make('request', () => 3).override(), make('transaction', () => 4).override()] },
  { IUnit: make('request', (unit: number) => unit, ['unit']) },
);
// error: 'unit' is request-scoped: what replaces it must be so, too
build(units, { unit: [make('transaction', () => 3).override(), make('transaction', () => 4).override()] });
// error: 'unknown' is not registered by an earlier feature
build(clocks, { unknown: of('application', Clock).override() });
// error: it does not fit 'IClock'
build(clocks, { IClock: make('application', () => 5).override() });
// error: 'nope' is not registered
build(clocks, { IClock: make('application', (_: number) => new Clock(), ['nope']).override() });
declare const ofFeatures: Services<typeof features>;
exactly<{ clock: Clock; pool: Pool }>()(ofFeatures.IUser)(true);
exactly<Clock>()(ofFeatures.IClock)(true);

app.replacing({ IPool: value(new Pool('test')), IUsers: of('request', Users, ['IPool']) });
// error: it does not fit 'IPool'
app.replacing({ IPool: value('test') });
// error: 'nope' is not registered
app.replacing({ nope: value('test') });
// error: captive dependency: 'IContext' is request-scoped
app.replacing({ IPool: make('application', (_: Context) => new Pool(''), ['IContext']) });

// The interface of a service must fit its class.
interface HasUrl {
  readonly url: string;
}
exactly<HasUrl>()(null as unknown as Services<typeof narrowed>['IPool'])(true);
const narrowed = build({ IPool: value(new Pool('')).as<HasUrl>() });
// error: "the service does not fit" & { readonly delivers: number; readonly wanted: HasUrl; }
value(5).as<HasUrl>();
// error: Argument of type '"requets"'
of('requets', Context);
// error: 'url' is of type 'unknown'
make('application', (url) => url.length, ['url']);
