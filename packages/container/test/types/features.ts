// A feature is checked by itself: each mistake is an error at its key, not at `build(`. An optional feature may be missing.
import { all, lazy, lifetimes, optional, type IContainer, type Services } from '@ambit/container';
import { exactly } from './services.js';

const { of, make, value, alias, registered, feature, when, build } = lifetimes('application', 'request', 'transaction');

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
const hosts = feature('hosts', {
  IConnection: registered('transaction').as<{ readonly open: true }>(),
  IContext: of('request', Context),
});
const database = (url: string) => feature('database', { IReader: value(new Pool(url)) });

// It sees its own keys, and those of the features that it requires, or of what makes them.
const users = feature(
  'users',
  {
    IUsers: of('request', Users, ['IPool', 'IContext']),
    IReaders: make('request', (reader: Pool, all_: Users[]) => [reader, all_], ['IReader', all('IUsers')]),
    IPool: make('application', () => new Pool('other')).override(),
    byScope: make('request', (scope: IContainer) => scope.resolve<number>('count')),
  },
  infra,
  hosts,
  database,
);
exactly<Users>()(null as unknown as Services<typeof graph>['IUsers'])(true);
const graph = build(infra, hosts, database('postgres://localhost'), users);
// It may say by itself what it requires.
feature('health', { IHealth: of('request', Users, ['pool']) }, { pool: registered('application').as<Pool>() });

export const wrong = feature(
  'wrong',
  {
    // error: 'IPol' is not registered: neither this feature has it nor one that it requires
    keyIsMissing: of('application', Users, ['IPol']),
    // error: 'IContxt' is not registered
    twoKeysAreMissing: of('request', Users, ['IPol', 'IContxt']),
    // error: captive dependency: 'IContext' is request-scoped, and is disposed before this application service
    captive: of('application', Users, ['IPool', 'IContext']),
    // error: captive dependency: 'IConnection' is transaction-scoped, and is disposed before this request service
    captiveOfATransaction: make('request', (connection: object) => connection, ['IConnection']),
    // error: captive dependency: 'IContext'
    captiveLazy: make('application', (context: () => Context) => context().user, [lazy('IContext')]),
    // error: captive dependency: 'IContext'
    captiveOptional: make('application', (context?: Context) => context?.user, [optional('IContext')]),
    // error: "'url' does not fit parameter 0" & { readonly delivers: string; readonly wanted: Pool; }
    wrongService: of('request', Users, ['url']),
    // error: 'url' does not fit parameter 1
    wrongOptionalService: of('request', Users, ['IPool', 'url']),
    // error: there is no parameter 2
    keyForNoParameter: of('request', Users, ['IPool', 'IContext', 'url']),
    // error: parameter 0 has no key
    parameterWithoutKey: of('request', Users, []),
    // error: list the keys of its parameters
    noList: of('request', Users),
    // error: add `as const` to its static inject
    listIsNotConst: of('request', Unlisted),
    // error: a class is not a key of a graph
    classAsKey: make('request', (context: Context) => context.user, [Context]),
    // error: 'IPol' is not registered
    aliasOfNothing: alias('IPol'),
    // error: not an entry of a graph
    notAnEntry: 5,
    // error: captive dependency: 'IContext'
    several: [make('request', () => 1), make('application', (context: Context) => context.user, ['IContext'])],
    // error: an earlier feature registers 'IPool'
    IPool: make('application', () => new Pool('')),
    // error: it does not fit 'url'
    url: value(5).override(),
    // error: 'IUser' is not registered by an earlier feature
    IUser: of('request', Context).override(),
    // error: captive dependency: 'IConnection' is transaction-scoped, and is disposed before this request service
    severalLifetimes: make(['request', 'transaction'], (open: object) => open, ['IConnection']),
    // error: 'nope' is not registered
    aliasByLifetime: alias({ request: 'IPool', transaction: 'nope' }),
  },
  infra,
  hosts,
);

// Without what it requires, the key of another feature is not known.
feature('alone', {
  // error: 'IPool' is not registered: neither this feature has it nor one that it requires
  IUsers: of('request', Users, ['IPool']),
});

// An optional feature: each of its keys may be undefined, but not for its own entries.
interface MailConfig {
  readonly from: string;
}
class Mail {
  constructor(readonly config: MailConfig) {}
}
declare const config: { readonly mail?: MailConfig; readonly replica: boolean };
const mail = (given: MailConfig | undefined) =>
  when(given, (mailConfig) =>
    feature(
      'mail',
      {
        IMailConfig: mailConfig,
        IMail: of('application', Mail, ['IMailConfig']),
        IOutbox: of('request', Mail, ['IMailConfig']),
        post: alias('IMail'),
        letters: [make('application', () => 1), make('request', () => 2)],
        IContext: of('request', Context).override(),
      },
      hosts,
    ),
  );
const optionally = build(
  infra,
  hosts,
  mail(config.mail),
  when(config.replica, { IReplica: make('application', (pool: Pool) => pool, ['IPool']) }),
  {
    ISender: make('application', (outbox: Mail | undefined, post?: Mail) => [outbox, post], ['IMail', 'post']),
    ILater: make('application', (later: () => Mail | undefined) => later(), [lazy('IMail')]),
    IMaybe: make('application', (maybe?: Mail) => maybe, [optional('IMail')]),
    IEach: make('application', (each: (Mail | undefined)[]) => each, [all('IMail')]),
  },
);
declare const services: Services<typeof optionally>;
exactly<MailConfig | undefined>()(services.IMailConfig)(true);
exactly<Mail | undefined>()(services.IMail)(true);
exactly<Mail | undefined>()(services.post)(true);
exactly<number | undefined>()(services.letters)(true);
exactly<Pool | undefined>()(services.IReplica)(true);
exactly<Context>()(services.IContext)(true);
exactly<Pool>()(services.IPool)(true);
optionally.replacing({ IMail: value(undefined), IReplica: value(new Pool('')) });

build(infra, hosts, mail(config.mail), {
  // error: "'IMail' does not fit parameter 0" & { readonly delivers: Mail | undefined; readonly wanted: Mail; }
  demanding: make('application', (needed: Mail) => needed, ['IMail']),
  // error: "lazy('IMail') does not fit parameter 0"
  later: make('application', (needed: () => Mail) => needed(), [lazy('IMail')]),
  // error: captive dependency: 'IOutbox' is request-scoped, and is disposed before this application service
  captive: make('application', (outbox?: Mail) => outbox, ['IOutbox']),
});
// error: an earlier feature registers 'IMail'
build(infra, hosts, mail(config.mail), { IMail: value('mail') });
// error: 'nope' is not registered
build(infra, when(config.replica, { IReplica: of('application', Users, ['nope']) }));
// error: it does not fit 'IPool'
build(infra, when(config.replica, { IPool: value(5).override() }));
// error: an earlier feature registers 'IPool'
build(infra, when(config.replica, { IPool: value(new Pool('')) }));
// One optional feature does not count on another, not even where both are spread into one object.
const one = when(config.replica, { IOne: of('application', Context) });
const two = when(config.replica, { ITwo: make('application', (needed: Context) => needed, ['IOne']) });
// error: "'IOne' does not fit parameter 0"
build({ ...one, ...two });
build({ ...one, ...when(config.replica, { ITwo: make('application', (needed?: Context) => needed, ['IOne']) }) });
