// Is each dependency available as long as the service that needs it?
import { all, lazy, optional, type Services } from '@ambit/container';
import { alias, build, Context, infra, make, of, registered, Users, value } from './needs.js';
import { exactly } from './services.js';

build({
  ...infra,
  IContext: of('request', Context),
  // error: captive dependency: 'IContext' is request-scoped, and is disposed before this application service
  captive: of('application', Users, ['IPool', 'IContext']),
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
