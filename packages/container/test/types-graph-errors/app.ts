// Each mistake that a graph can have, once. The messages of the compilers stand in errors.md.
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
  keyIsMissing: of('application', Users, ['IPol']),
  twoKeysAreMissing: of('request', Users, ['IPol', 'IContxt']),
  captive: of('application', Users, ['IPool', 'IContext']),
  captiveOfATransaction: make('request', (connection: object) => connection, ['IConnection']),
  captiveLazy: make('application', (context: () => Context) => context().user, [lazy('IContext')]),
  captiveOptional: make('application', (context?: Context) => context?.user, [optional('IContext')]),
  wrongService: of('request', Users, ['url']),
  wrongOptionalService: of('request', Users, ['IPool', 'url']),
  keyForNoParameter: of('request', Users, ['IPool', 'IContext', 'url']),
  parameterWithoutKey: of('request', Users, []),
  noList: of('request', Users),
  listIsNotConst: of('request', Unlisted),
  classAsKey: make('request', (context: Context) => context.user, [Context]),
  aliasOfNothing: alias('IPol'),
  notAnEntry: 5,
  several: [make('request', () => 1), make('application', (context: Context) => context.user, ['IContext'])],
});

const users = { IUsers: of('request', Users, ['IPool']) };
export const spread = build({ ...infra, ...users, ...{ IOrders: of('request', Users, ['IPol']) } });
export const twice = build(infra, users, { IUsers: of('request', Users, ['IPool']) });
export const replacesNothing = build(infra, { IUsers: of('request', Users, ['IPool']).override() });
export const replacedByALongerLifetime = build(infra, users, {
  IUsers: of('application', Users, ['IPool']).override(),
});
export const replacedByAnother = build(infra, users, { IUsers: make('request', () => 'ann').override() });

export const lifetimeIsUnknown = of('requets', Context);
export const factoryWithoutTypes = make('application', (url) => url.length, ['url']);
export const notOfThisType = value('ann').as<Users>();
spread.replacing({ IPool: value('postgres://localhost') });
