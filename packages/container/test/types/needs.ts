// Does a service get what it needs?
import { all, lazy, lifetimes, onStart, decorate, optional, type Services } from '@ambit/container';
import { exactly } from './services.js';

export const { of, make, value, alias, registered, feature, build } = lifetimes(
  'application',
  'request',
  'transaction',
);

export class Pool {
  constructor(readonly url: string) {}
}
export class Context {
  readonly id = 1;
}
export class Users {
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

export const infra = feature('infra', {
  url: value('postgres://localhost'),
  IPool: make('application', (url: string) => new Pool(url), ['url']).pipe(onStart((pool) => pool.url)),
});

export const app = build({
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
});

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
