// Each mistake that a graph can have, once.
import { lifetimes, optional, lazy } from '@ambit/container';

const { of, make, value, alias, registered, feature, build } = lifetimes('application', 'request', 'transaction');

class Pool {
  constructor(readonly url: string) {}
}
class Context {
  readonly user = 'ann';
}
class Users {
  constructor(
    readonly pool: Pool,
    readonly context?: Context,
  ) {}
}
class Unlisted {
  static readonly inject = ['IPool'];
  constructor(readonly pool: Pool) {}
}

const infra = feature('infra', {
  url: value('postgres://localhost'),
  IPool: make('application', (url: string) => new Pool(url), ['url']),
});

export const app = build({
  ...infra,
  IContext: of('request', Context),
  IConnection: registered('transaction').as<{ readonly open: true }>(),
  // error: 'IPol' is not registered
  keyIsMissing: of('application', Users, ['IPol']),
  // error: 'IPol' is not registered
  // error: 'IContxt' is not registered
  twoKeysAreMissing: of('request', Users, ['IPol', 'IContxt']),
  // error: captive dependency: 'IContext' is request-scoped, and is disposed before this application service
  captive: of('application', Users, ['IPool', 'IContext']),
  // error: captive dependency: 'IConnection' is transaction-scoped, and is disposed before this request service
  captiveOfATransaction: make('request', (connection: object) => connection, ['IConnection']),
  // error: captive dependency: 'IContext' is request-scoped, and is disposed before this application service
  captiveLazy: make('application', (context: () => Context) => context().user, [lazy('IContext')]),
  // error: captive dependency: 'IContext' is request-scoped, and is disposed before this application service
  captiveOptional: make('application', (context?: Context) => context?.user, [optional('IContext')]),
  // error: 'url' does not fit parameter 0
  wrongService: of('request', Users, ['url']),
  // error: 'url' does not fit parameter 1
  wrongOptionalService: of('request', Users, ['IPool', 'url']),
  // error: there is no parameter 2
  keyForNoParameter: of('request', Users, ['IPool', 'IContext', 'url']),
  // error: parameter 0 has no key
  parameterWithoutKey: of('request', Users, []),
  // error: list the keys of its parameters: of(lifetime, Class, [keys])
  noList: of('request', Users),
  // error: add `as const` to its static inject
  listIsNotConst: of('request', Unlisted),
  // error: a class is not a key of a graph: register it under a name
  classAsKey: make('request', (context: Context) => context.user, [Context]),
  // error: 'IPol' is not registered
  aliasOfNothing: alias('IPol'),
  // error: not an entry of a graph: make it with of, make, value, alias or registered
  notAnEntry: 5,
  // error: captive dependency: 'IContext' is request-scoped, and is disposed before this application service
  several: [make('request', () => 1), make('application', (context: Context) => context.user, ['IContext'])],
});

const users = { IUsers: of('request', Users, ['IPool']) };
// error: 'IPol' is not registered
export const spread = build({ ...infra, ...users, ...{ IOrders: of('request', Users, ['IPol']) } });
// error: an earlier feature registers 'IUsers': say .override() to replace it, or .also() to add to it
export const twice = build(infra, users, { IUsers: of('request', Users, ['IPool']) });
// error: 'IUsers' is not registered by an earlier feature
export const replacesNothing = build(infra, { IUsers: of('request', Users, ['IPool']).override() });
export const replacedByALongerLifetime = build(infra, users, {
  // error: 'IUsers' is request-scoped: what replaces it must be so, too
  IUsers: of('application', Users, ['IPool']).override(),
});
// error: it does not fit 'IUsers'
export const replacedByAnother = build(infra, users, { IUsers: make('request', () => 'ann').override() });

// error: Argument of type '"requets"' is not assignable
export const lifetimeIsUnknown = of('requets', Context);
// error: 'url' is of type 'unknown'
export const factoryWithoutTypes = make('application', (url) => url.length, ['url']);
// error: the service does not fit
export const notOfThisType = value('ann').as<Users>();
// error: it does not fit 'IPool'
spread.replacing({ IPool: value('postgres://localhost') });
