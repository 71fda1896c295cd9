import { describe, expect, it } from 'vitest';
import { all, Container, decorate, lifetimes, onDispose, onStart, type ContainerError } from '../src/index.js';
import { explain, graph, verify } from '../src/tools.js';

const { of, make, value, alias, registered, feature, when, build, lazy } = lifetimes(
  'application',
  'request',
  'transaction',
);

class Pool {
  constructor(readonly url: string) {}
}
class Users {
  constructor(
    readonly pool: Pool,
    readonly signal?: AbortSignal,
  ) {}
}
class Health {
  static readonly inject = ['IPool'] as const;
  constructor(readonly pool: Pool) {}
}

const app = () =>
  build({
    url: value('postgres://localhost'),
    IPool: make('application', (url: string) => new Pool(url), ['url']),
    IHealth: of('application', Health),
    IRequestSignal: registered('request').as<AbortSignal>(),
    IUsers: of('request', Users, ['IPool', 'IRequestSignal']),
    people: alias('IUsers'),
    unit: [make('request', () => 'request'), make('transaction', () => 'transaction')],
    IDate: make('request', () => new Date()).transient(),
  });

const open = ({ registrations }: { registrations: ReturnType<typeof app>['registrations'] }) =>
  new Container({ tags: ['application'] }).addRegistration(...registrations);

const openRequest = (container: Container) =>
  container.createScope({ tags: ['request'] }).register('IRequestSignal', () => new AbortController().signal);

describe('a graph', () => {
  it('registers every entry with its lifetime', () => {
    const container = open(app());
    const [one, two] = [openRequest(container), openRequest(container)];
    const inner = one.createScope({ tags: ['transaction'] });
    expect(one.resolve<Users>('IUsers').pool).toBe(container.resolve('IPool'));
    expect(container.resolve<Health>('IHealth').pool.url).toBe('postgres://localhost');
    expect(one.resolve('IUsers')).toBe(inner.resolve('people'));
    expect(one.resolve('IUsers')).not.toBe(two.resolve('IUsers'));
    expect([one.resolve('unit'), inner.resolve('unit')]).toEqual(['request', 'transaction']);
    expect(one.resolve('IDate')).not.toBe(one.resolve('IDate'));
    expect(() => container.resolve('IUsers')).toThrow('AMBIT_OUT_OF_SCOPE');
  });

  it('tells verify() and graph() which scopes there are, and what is registered on them', () => {
    const { scopes, ...composition } = app();
    expect(scopes).toEqual([
      {
        tags: ['request'],
        registers: ['IRequestSignal'],
        scopes: [{ tags: ['transaction'], registers: [], scopes: [] }],
      },
    ]);
    verify(open(composition), ...scopes);
    expect(graph(open(composition), ...scopes).nodes.filter(({ kind }) => kind === 'missing')).toEqual([]);
  });

  it('applies modifiers, which see what the entry makes', async () => {
    const seen: unknown[] = [];
    const { registrations } = build({
      IPool: make('application', () => new Pool('a')).pipe(
        onStart((pool) => seen.push(['start', pool.url])),
        decorate((pool) => ({ wrapped: pool })),
        onDispose(({ wrapped }) => seen.push(['dispose', wrapped.url])),
      ),
    });
    const container = open({ registrations });
    await container.start();
    await container.dispose();
    expect(seen).toEqual([
      ['start', 'a'],
      ['dispose', 'a'],
    ]);
  });

  it('refuses what is not an entry, an unknown lifetime, and a lifetime that is there twice', () => {
    expect(() => build({ url: 'postgres://localhost' as never })).toThrow("'url' is 'postgres://localhost'");
    expect(() => of('requets' as 'request', Pool, ['url'])).toThrow("The lifetime 'requets' is unknown");
    expect(() => lifetimes('application', 'application')).toThrow('name each tag once');
  });
});

describe('one entry for several lifetimes', () => {
  class Dispatcher {}
  class Accounts {
    disposed = 0;
    constructor(readonly db: { readonly name: string }) {}
    dispose() {
      this.disposed++;
    }
  }
  class Transfers {
    constructor(readonly accounts: Accounts) {}
  }
  const accounts = () =>
    build({
      IPool: make('application', () => ({ name: 'the pool' })),
      ISession: registered('transaction').as<{ readonly name: string }>(),
      db: alias({ request: 'IPool', transaction: 'ISession' }),
      IAccounts: of(['request', 'transaction'], Accounts, ['db']),
      ITransfers: of(['request', 'transaction'], Transfers, ['IAccounts']),
      source: make(['request', 'transaction'], (db: { readonly name: string }) => db.name, ['db']),
      unit: make(['request', 'transaction'], () => ({})).transient(),
      IDispatcher: of(['application', 'request'], Dispatcher),
    });
  const openTransaction = (request: Container) =>
    request.createScope({ tags: ['transaction'] }).register('ISession', () => ({ name: 'the connection' }));

  it('has an instance per scope of each lifetime, made from what that scope has', async () => {
    const { registrations, scopes } = accounts();
    const container = open({ registrations });
    verify(container, ...scopes);
    const request = container.createScope({ tags: ['request'] });
    const [one, two] = [openTransaction(request), openTransaction(request)];
    const source = (scope: Container) => scope.resolve<Transfers>('ITransfers').accounts.db.name;
    expect([source(request), source(one), request.resolve('source'), one.resolve('source')]).toEqual([
      'the pool',
      'the connection',
      'the pool',
      'the connection',
    ]);
    const made = [request, one, two].map((scope) => scope.resolve<Accounts>('IAccounts'));
    expect(new Set(made).size).toBe(3);
    expect(one.resolve('IAccounts')).toBe(one.resolve<Transfers>('ITransfers').accounts);
    expect(one.resolveAll('IAccounts')).toEqual([made[1]]);
    expect(one.resolve('unit')).not.toBe(one.resolve('unit'));
    expect(() => container.resolve('IAccounts')).toThrow('AMBIT_OUT_OF_SCOPE');
    await one.dispose();
    expect(made.map(({ disposed }) => disposed)).toEqual([0, 1, 0]);
    await container.dispose();
    expect(made.map(({ disposed }) => disposed)).toEqual([1, 1, 1]);
  });

  it('counts the outermost as the scope with its tag', () => {
    const container = open(accounts());
    const request = container.createScope({ tags: ['request'] });
    expect(container.resolve('IDispatcher')).toBe(container.resolve('IDispatcher'));
    expect(request.resolve('IDispatcher')).not.toBe(container.resolve('IDispatcher'));
    expect(openTransaction(request).resolve('IDispatcher')).toBe(request.resolve('IDispatcher'));
  });

  it('can be registered directly on scopes of each', () => {
    const entry = registered(['request', 'transaction']);
    const { scopes } = build({ ISignal: entry.as<AbortSignal>() });
    // Without `.as()`, which only says the type, where JavaScript has none to say.
    expect(build({ ISignal: entry as never }).scopes).toEqual(scopes);
    expect(scopes).toEqual([
      {
        tags: ['request'],
        registers: ['ISignal'],
        scopes: [{ tags: ['transaction'], registers: ['ISignal'], scopes: [] }],
      },
    ]);
  });

  it('is one node of each scope in the graph, and one line of an explanation', () => {
    const { registrations, scopes } = accounts();
    const container = open({ registrations });
    const owners = graph(container, ...scopes).nodes.flatMap(({ key, scope }) => (key === 'IAccounts' ? [scope] : []));
    expect(owners).toEqual([
      [['application'], ['request']],
      [['application'], ['request'], ['transaction']],
    ]);
    const transaction = openTransaction(container.createScope({ tags: ['request'] }));
    expect(explain(transaction, 'IAccounts').rejected).toEqual([]);
  });

  it.each([
    ['no lifetime', () => of([] as never, Dispatcher)],
    ['one that is unknown', () => of(['request', 'requets'] as never, Dispatcher)],
    ['an alias of no lifetime', () => alias({} as never)],
    ['an alias of one that is unknown', () => alias({ requets: 'IPool' } as never)],
  ])('refuses %s', (_, wrong) => {
    expect(wrong).toThrow("use one of 'application', 'request', 'transaction'");
  });
});

describe('features', () => {
  class Clock {
    now() {
      return 1;
    }
  }
  const users = feature('users', { IClock: of('application', Clock), rule: make('request', () => 'users') });

  it('replace services of earlier ones, or add to them', () => {
    const { registrations, scopes } = build(
      users,
      feature(
        'orders',
        {
          IClock: make('application', () => ({ now: () => 2 })).override(),
          rule: make('request', () => 'orders').also(),
          rules: make('request', (rules: string[]) => rules, [all('rule')]),
        },
        users,
      ),
    );
    const container = open({ registrations });
    verify(container, ...scopes);
    expect(container.resolve<Clock>('IClock').now()).toBe(2);
    expect(openRequest(container).resolve('rules')).toEqual(['users', 'orders']);
    expect(openRequest(container).resolve('rule')).toBe('orders');
  });

  it('replace all registrations of a key at once', () => {
    const { registrations } = build(
      { unit: [make('request', () => 'old'), make('transaction', () => 'old')] },
      { unit: [make('request', () => 'request').override(), make('transaction', () => 'transaction').override()] },
    );
    const request = openRequest(open({ registrations }));
    expect(request.createScope({ tags: ['transaction'] }).resolveAll('unit')).toEqual(['request', 'transaction']);
  });

  it('are named where a service is explained or drawn, though they were spread', () => {
    const { registrations, scopes } = build({ ...users, other: value(1) });
    const container = open({ registrations });
    expect(String(explain(container, 'IClock'))).toContain("by feature 'users'");
    expect(graph(container, ...scopes).nodes.map(({ key, feature: name }) => [key, name])).toEqual([
      ['IClock', 'users'],
      ['other', undefined],
      ['rule', 'users'],
    ]);
  });

  it.each([
    ['of one graph', () => build(users, { IClock: of('application', Clock) as never }).registrations, 'feature 2'],
    [
      'of two graphs',
      () => [
        ...build(users).registrations,
        ...build(feature('orders', { IClock: of('application', Clock) })).registrations,
      ],
      'orders',
    ],
  ])('%s that register one key are reported', (_, registrations, other) => {
    const problem = (() => {
      try {
        return verify(open({ registrations: registrations() }), { tags: ['request'] });
      } catch (error) {
        return error as ContainerError;
      }
    })();
    expect(problem?.problems.map(({ code, key }) => [code, key])).toEqual([['AMBIT_BAD_REGISTRATION', 'IClock']]);
    expect(problem?.message).toContain(`'users' and '${other}' register it`);
  });

  it('is refused by verify() where a transient service resolves later what belongs to a scope below', () => {
    const { registrations, scopes } = build({
      ISession: make('transaction', () => ({})),
      db: alias('ISession'),
      // @ts-expect-error the compiler refuses it, too
      later: make('application', (db: () => unknown) => db, [lazy('db')]).transient(),
    });
    const container = new Container({ tags: ['application'] }).addRegistration(...registrations);
    const refused = (): void => verify(container, ...scopes);
    expect(refused).toThrow(/'ISession'/);
    expect(refused).toThrow(/AMBIT_INVALID/);
  });
});

describe('an optional feature', () => {
  class Mail {
    constructor(readonly from: string) {}
  }
  const hosts = feature('hosts', { IName: make('request', () => 'plain'), rule: make('request', () => 'first') });
  const graphWith = (from: string | undefined) =>
    build(
      hosts,
      when(from, (given) =>
        feature(
          'mail',
          {
            from: given,
            IMail: of('application', Mail, ['from']),
            post: alias('IMail'),
            several: [make('application', () => 1), make('request', () => 2)],
            signal: registered('request').as<AbortSignal>(),
            IName: make('request', () => 'with mail').override(),
            rule: make('request', () => 'second').also(),
          },
          hosts,
        ),
      ),
      { sender: make('request', (mail?: Mail) => mail?.from ?? 'nobody', ['IMail']) },
    );
  const KEYS = ['from', 'IMail', 'post', 'several', 'signal'] as const;

  it('is like any other where its condition holds', () => {
    const { registrations, scopes } = graphWith('ada');
    const container = open({ registrations });
    verify(container, ...scopes);
    expect(scopes).toMatchObject([{ tags: ['request'], registers: ['signal'] }]);
    const request = container.createScope({ tags: ['request'] });
    expect(request.resolve('IMail')).toEqual(new Mail('ada'));
    expect(request.resolve('post')).toBe(request.resolve('IMail'));
    expect(['sender', 'IName', 'several'].map((key) => request.resolve(key))).toEqual(['ada', 'with mail', 2]);
    expect(request.resolveAll('rule')).toEqual(['first', 'second']);
  });

  it('delivers undefined for each of its keys elsewhere, and leaves those of others as they are', async () => {
    const { registrations, scopes } = graphWith(undefined);
    const container = open({ registrations });
    verify(container, ...scopes);
    expect(scopes).toMatchObject([{ tags: ['request'], registers: [] }]);
    await container.start();
    const request = container.createScope({ tags: ['request'] });
    for (const scope of [container, request])
      expect(KEYS.map((key) => scope.resolve(key))).toEqual(KEYS.map(() => undefined));
    expect(['sender', 'IName'].map((key) => request.resolve(key))).toEqual(['nobody', 'plain']);
    expect(request.resolveAll('rule')).toEqual(['first']);
    expect(explain(container, 'IMail').winner).toMatchObject({ kind: 'value', feature: 'mail' });
    await container.dispose();
  });

  it('may be an object, whose entries have the name of their place', () => {
    const { registrations } = build(hosts, when(false, { IMail: of('application', Mail, ['from' as never]) }));
    expect(explain(open({ registrations }), 'IMail').winner).toMatchObject({ feature: 'feature 2' });
  });
});
