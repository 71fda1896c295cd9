import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  all,
  type Binding,
  type Class,
  Container,
  ContainerError,
  decorate,
  type Dependency,
  externallyOwned,
  hasTag,
  inject,
  lazy,
  MetadataInjector,
  optional,
  Registration,
  scope,
  singleton,
} from '../src/index.js';
import { explain, graph, type ScopeDeclaration, toMermaid, verify } from '../src/tools.js';
import { asking, request as declared, resolving } from './support/asking.js';
import { randomRegistrations } from './support/random-app.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const perTransaction = scope(hasTag('transaction'));
const problemsIn = (app: Container, ...scopes: ScopeDeclaration[]) => refusal(() => verify(app, ...scopes)).problems;

class Unregistered {
  constructor(@inject('IMissing') readonly missing: unknown) {}
}

describe('verify', () => {
  it('reports missing keys, cycles and captive dependencies in every kind of scope at once', () => {
    const app = openApplication(
      asking('IContext').pipe(singleton()).to('ICache'),
      asking().pipe(singleton(), perRequest).to('IContext'),
      asking('IMailer').pipe(singleton(), perRequest).to('IAudit'),
      asking('ILeft').pipe(singleton(), perTransaction).to('IRight'),
      asking('IRight').pipe(singleton(), perTransaction).to('ILeft'),
    );
    const error = refusal(() => verify(app, declared));

    expect(error.code).toBe('AMBIT_INVALID');
    expect(new Map(error.problems.map(({ code, path }) => [code, path.join(' -> ')]))).toEqual(
      new Map([
        ['AMBIT_CAPTIVE_DEPENDENCY', 'ICache -> IContext'],
        ['AMBIT_NOT_REGISTERED', 'IAudit -> IMailer'],
        ['AMBIT_CYCLE', 'IRight -> ILeft -> IRight'],
      ]),
    );
    expect(error.problems).toHaveLength(3);
    for (const { message, hint, tags } of error.problems) {
      for (const line of message.split('\n')) expect(error.message).toContain(line.trim());
      expect(hint).toMatch(/\w/);
      expect(tags[0]).toEqual(['application']);
    }
  });

  it('makes nothing and calls no function but predicates', () => {
    let calls = 0;
    const count = () => ++calls;
    class Counted {
      readonly number = count();
    }
    const app = openApplication(
      Registration.fromClass(Counted).pipe(singleton()).to('IClass'),
      Registration.fromFactory(count).to('IFactory'),
      Registration.fromValue(0).pipe(decorate(count)).to('IDecorated'),
      asking('IClass', 'IFactory', 'IDecorated', 'IDirect').to('IAll'),
    ).register('IDirect', count);
    verify(app, declared);

    expect(calls).toBe(0);
  });

  it('reports a fault once, however many scopes and services meet it', () => {
    class Keyless {
      constructor(readonly size: number) {}
    }
    const app = openApplication(
      asking('IMissing').pipe(singleton()).to('IPool'),
      Registration.fromClass(Keyless).to('IKeyless'),
      asking('IPool', 'IKeyless').to('IUsers'),
      asking('IPool', 'IKeyless').pipe(singleton(), perRequest).to('IOrders'),
    );

    const codes = problemsIn(app, declared).map(({ code }) => code);

    expect(codes.toSorted()).toEqual(['AMBIT_NOT_REGISTERED', 'AMBIT_NO_KEY_FOR_PARAMETER']);
  });

  it('reports a registration that is shadowed, too', () => {
    const app = openApplication(asking('IMissing').to('IUsers'), asking().to('IUsers'));

    expect(problemsIn(app)).toMatchObject([{ code: 'AMBIT_NOT_REGISTERED', path: ['IUsers', 'IMissing'] }]);
  });

  it.each([
    ['an alias', Registration.alias('IMissing')],
    ['a factory that lists what it needs', Registration.fromFactory((missing) => missing, ['IMissing'])],
    ['a lazy', asking(lazy('IMissing'))],
    ['all of a key', asking(all('IRule'))],
    ['a class that is not registered', asking(Unregistered)],
    ['a lazy of a class that is not registered', asking(lazy(Unregistered))],
  ])('looks through %s', (_, registration) => {
    const app = openApplication(registration.to('IRoot'), asking('IRule').to('IUser'), asking('IMissing').to('IRule'));

    expect(problemsIn(app).map(({ key }) => key)).toContain('IMissing');
    expect(problemsIn(app).map(({ path }) => path[0])).toContain('IRoot');
  });

  it('cannot see into a factory: what that resolves is refused when it does', () => {
    const app = openApplication(
      resolving('IContext').pipe(singleton()).to('ICache'),
      asking().pipe(singleton(), perRequest).to('IContext'),
    );
    verify(app, declared);

    expect(refusal(() => openRequest(app).resolve('ICache'))).toMatchObject({
      code: 'AMBIT_CAPTIVE_DEPENDENCY',
      key: 'IContext',
      path: ['ICache', 'IContext'],
    });
  });
});

const { FIRST_SEED = '1', FC_SEED = FIRST_SEED, FC_RUNS = '1000' } = process.env;
const value = Registration.fromValue(1).to('Value');

const thrownBy = (work: () => unknown): ContainerError | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof ContainerError) return error;
    throw error;
  }
};

/** The same for two errors of one cause: where a cycle begins does not matter. */
const essence = ({ code, key, path }: ContainerError): string =>
  [
    code,
    ...(code === 'AMBIT_CYCLE'
      ? path
          .slice(path.indexOf(key ?? '') + 1)
          .map(String)
          .toSorted()
      : [key]),
  ].join(' ');

// A lazy to a transient that has a lazy to the first one would go on forever.
const MOST_SEEN = 300;

/** The refusals of resolve, and of the lazy functions that it handed out when they are called, and of those that these hand out. */
function refusalsOf(resolve: () => unknown): { atOnce: ContainerError[]; later: ContainerError[] } {
  const atOnce: ContainerError[] = [];
  const later: ContainerError[] = [];
  const seen = new Set<unknown>();
  const open = [resolve];
  const look = (made: unknown): void => {
    if (seen.has(made)) return;
    seen.add(made);
    if (typeof made === 'function') open.push(made as () => unknown);
    if (Array.isArray(made)) for (const one of made) look(one);
    if (typeof made === 'object' && made !== null && 'got' in made) look(made.got);
  };
  for (const call of open) {
    if (seen.size > MOST_SEEN) break;
    const error = thrownBy(() => look(call()));
    if (error) (call === resolve ? atOnce : later).push(error);
  }
  return { atOnce, later };
}

/** The findings of verify, and the refusals in a transaction, which sees every registration. */
function judge(registrations: readonly Binding[]) {
  const problems = thrownBy(() => verify(openApplication(value, ...registrations), declared))?.problems ?? [];
  const transaction = openTransaction(openRequest(openApplication(value, ...registrations)));
  transaction.register('ISession', () => 'open');
  const refusals = new Map(registrations.map(({ key }) => [key, refusalsOf(() => transaction.resolve(key as string))]));
  return { problems, refusals };
}

/** A singleton whose optional dependency has a shorter lifetime gets `undefined`: verify alone reports that. */
const isOptional = (registrations: readonly Binding[], { path }: ContainerError): boolean =>
  registrations.some(
    ({ key, needs }) =>
      key === path.at(-2) &&
      needs?.some((need) => typeof need === 'object' && need.kind === 'optional' && need.key === path.at(-1)),
  );

describe('verify and resolve agree', () => {
  it('on every graph: what passes resolves, every lazy can be called, what is refused fails with the same code', () => {
    fc.assert(
      fc.property(randomRegistrations, (registrations) => {
        const { problems, refusals } = judge(registrations);
        const found = problems.map(essence);
        const missing = problems.filter(({ code }) => code !== 'AMBIT_CYCLE').map(({ key }) => key);
        const isRefused = (key: unknown) => {
          const { atOnce, later } = refusals.get(key as string) ?? { atOnce: [], later: [] };
          return atOnce.length + later.length > 0;
        };

        for (const { atOnce, later } of refusals.values()) {
          for (const error of atOnce) expect(found).toContain(essence(error));
          // Called later, a lazy cannot know which singleton holds the service that holds it: the code may be another one.
          for (const error of later)
            if (error.code === 'AMBIT_CYCLE') expect(found).toContain(essence(error));
            else expect(missing).toContain(error.key);
        }
        for (const problem of problems)
          if (!isOptional(registrations, problem)) expect(problem.path[0]).toSatisfy(isRefused);
      }),
      { numRuns: Number(FC_RUNS), seed: Number(FC_SEED) },
    );
  });
});

describe('the graph', () => {
  it('of anything can be drawn, and every arrow begins and ends somewhere', () => {
    fc.assert(
      fc.property(randomRegistrations, (registrations) => {
        const drawn = graph(openApplication(...registrations), declared);
        const ids = drawn.nodes.map(({ id }) => id);

        expect(new Set(ids).size).toBe(ids.length);
        for (const { from, to } of drawn.edges) expect(ids).toEqual(expect.arrayContaining([from, to]));
        expect(toMermaid(drawn)).toMatch(/^flowchart /);
      }),
      { numRuns: 200, seed: Number(FC_SEED) },
    );
  });
});

const problemsWith = (app: Container, ...scopes: ScopeDeclaration[]) => refusal(() => verify(app, ...scopes)).problems;
const onTransaction = scope(hasTag('transaction'));

describe('a key that is declared as registered directly', () => {
  it('is there for the scopes that promise it and for those below', () => {
    const app = openApplication(
      asking('ISession').pipe(singleton(), onTransaction).to('IOrders'),
      asking('ISession', 'IOrders')
        .pipe(singleton(), scope(hasTag('savepoint')))
        .to('IPart'),
    );
    const savepoint = { tags: ['savepoint'] };
    const transaction = { tags: ['transaction'], registers: ['ISession'], scopes: [savepoint] };

    expect(() => verify(app, { tags: ['request'], scopes: [transaction] })).not.toThrow();
  });

  it('is missing everywhere else', () => {
    const app = openApplication(
      asking('ISession').pipe(singleton(), onTransaction).to('IOrders'),
      asking('ISession')
        .pipe(singleton(), scope(hasTag('job')))
        .to('IReport'),
    );

    expect(problemsWith(app, declared, { tags: ['job'] })).toMatchObject([
      { code: 'AMBIT_NOT_REGISTERED', path: ['IReport', 'ISession'], tags: [['application'], ['job']] },
    ]);
  });

  it('wins over a registration that cannot be made', () => {
    const app = openApplication(
      asking('IMissing').pipe(onTransaction).to('ISession'),
      asking('ISession').pipe(singleton(), onTransaction).to('IOrders'),
    );

    expect(problemsWith(app, declared).map(({ path }) => path[0])).not.toContain('IOrders');
  });
});

describe('what is made again at each resolve', () => {
  it('is no fault where one declared scope can make it', () => {
    const app = openApplication(asking('ISession').to('IOrders'));

    expect(() => verify(app, declared)).not.toThrow();
  });

  it('is one fault where no declared scope can make it', () => {
    const app = openApplication(asking('ISession').to('IOrders'));

    expect(problemsWith(app, { tags: ['request'] }, { tags: ['job'] })).toMatchObject([
      { code: 'AMBIT_NOT_REGISTERED', path: ['IOrders', 'ISession'] },
    ]);
  });
});

describe('a registration that no declared scope accepts', () => {
  const app = openApplication(
    asking()
      .pipe(scope(hasTag('requst')))
      .to('IUsers'),
  );

  it('is reported with the tag it asks for and the tags there are', () => {
    const [problem, ...rest] = problemsWith(app, declared);

    expect(rest).toEqual([]);
    expect(problem).toMatchObject({ code: 'AMBIT_UNREACHABLE', key: 'IUsers' });
    for (const tag of ['requst', 'application', 'request', 'transaction']) expect(problem?.hint).toContain(tag);
  });

  it('is distinguished from another of its key', () => {
    const two = openApplication(
      asking().pipe(perRequest).to('IUsers'),
      asking()
        .pipe(scope(hasTag('requst')))
        .to('IUsers'),
    );
    const [problem, ...rest] = problemsWith(two, declared);

    expect(rest).toEqual([]);
    expect(problem?.hint).toContain("asks for 'requst';");
  });

  it('is no fault once a scope with the tag is declared, however deep', () => {
    const deep = { tags: ['request'], scopes: [{ tags: ['job'], scopes: [{ tags: ['requst'] }] }] };

    expect(() => verify(app, deep)).not.toThrow();
  });
});

describe('verify', () => {
  it('leaves the container as it was', () => {
    const app = openApplication(asking('ISession').to('IOrders'), asking().pipe(singleton(), perRequest).to('IUsers'));
    const live = openTransaction(openRequest(app)).register('ISession', () => 'first');
    const users = live.resolve('IUsers');
    const before = String(explain(live, 'ISession'));
    verify(app, declared, { tags: ['job'], registers: ['IUsers'] });

    expect(live.resolve('IUsers')).toBe(users);
    expect(live.resolve('IOrders')).toMatchObject({ got: ['first'] });
    expect(String(explain(live, 'ISession'))).toBe(before);
    expect(refusal(() => openTransaction(openRequest(app)).resolve('ISession')).code).toBe('AMBIT_NOT_REGISTERED');
    expect(app.addRegistration(asking().to('ILate')).resolve('ILate')).toBeDefined();
    expect(live.resolve('ILate')).toBeDefined();
  });

  it('starts anywhere: a request knows what was registered on it', () => {
    const app = openApplication(asking('IUser').pipe(singleton(), onTransaction).to('IOrders'));
    const live = openRequest(app).register('IUser', () => 'Ada');
    const transaction = { tags: ['transaction'] };

    expect(() => verify(live, transaction)).not.toThrow();
    expect(problemsWith(openRequest(app), transaction)).toMatchObject([{ path: ['IOrders', 'IUser'] }]);
  });
});

class Service {
  readonly got: readonly unknown[];
  constructor(...got: readonly unknown[]) {
    this.got = got;
  }
}

/** So many services, each a class of its own that asks for what `needsOf` says, and how often verify has looked at what classes need. */
function application(
  count: number,
  needsOf: (i: number) => readonly Dependency[],
): { app: Container; looks(): number } {
  let looked = 0;
  const needs = new Map<unknown, readonly Dependency[]>();
  class Counting extends MetadataInjector {
    override dependencies(target: typeof Service): readonly Dependency[] {
      looked++;
      return needs.get(target) ?? [];
    }
  }
  const app = new Container(new Counting(), { tags: ['application'] });
  for (let i = 0; i < count; i++) {
    const target = class extends Service {};
    needs.set(target, needsOf(i));
    app.addRegistration(Registration.fromClass(target).to(`service ${i}`));
  }
  return { app, looks: () => looked };
}

const before = (i: number): string[] => (i > 0 ? [`service ${Math.floor((i - 1) / 2)}`] : []);

describe('the cost of verify grows with the number of services, not with its square', () => {
  it.each<[string, (i: number) => readonly Dependency[], number]>([
    ['where one key that all need is missing', (i) => [...before(i), 'ILogger'], 1],
    ['where each needs the one before, and the first needs what is missing', (i) => [`service ${i - 1}`], 1],
    ['where each needs a key of its own that is missing', (i) => [...before(i), `missing ${i}`], 1],
    ['where nothing is missing', before, 0],
    ['where one key that all may do without is missing', (i) => [...before(i), optional('ICache')], 0],
  ])('%s', (_, needsOf, atLeast) => {
    const [few, more, many] = [250, 500, 1000].map((count) => {
      const { app, looks } = application(count, needsOf);
      const request = { tags: ['request'] };
      const problems = atLeast ? refusal(() => verify(app, request)).problems : verify(app, request);
      expect(problems?.length ?? 0).toBeGreaterThanOrEqual(atLeast);
      return looks();
    }) as [number, number, number];

    expect(more / few).toBeLessThan(2.2);
    expect(many / more).toBeLessThan(2.2);
    // In each of the two scopes once.
    expect(many).toBeLessThanOrEqual(1000 * 2);
  });
});

class Session {
  [Symbol.asyncDispose] = undefined;
  async dispose(): Promise<void> {}
}
class Inherited extends Session {}
class Sync {
  [Symbol.dispose](): void {}
}
class Async {
  async [Symbol.asyncDispose](): Promise<void> {}
}
class Plain {}

const problems = (registration: Registration<unknown>) => {
  const app = openApplication(registration.to('ISession'));
  return refusal(() => verify(app, declared)).problems;
};
const accepted = (registration: Registration<unknown>) => () =>
  verify(openApplication(registration.to('ISession')), declared);

describe('a registration with a predicate and without singleton()', () => {
  it.each<[string, Class]>([
    ['dispose()', Session],
    ['an inherited dispose()', Inherited],
    ['Symbol.dispose', Sync],
    ['Symbol.asyncDispose', Async],
  ])('is reported by verify where its class has %s, which nobody would call', (_, target) => {
    const [problem, ...others] = problems(Registration.fromClass(target).pipe(perRequest));

    expect(problem).toMatchObject({ code: 'AMBIT_UNDISPOSED', key: 'ISession', tags: [['application']] });
    expect(problem?.hint).toContain('singleton()');
    expect(others).toEqual([]);
  });

  it('is accepted with singleton(), with externallyOwned(), without a disposer, and from a factory', () => {
    const session = Registration.fromClass(Session);
    expect(accepted(session.pipe(perRequest, singleton()))).not.toThrow();
    expect(accepted(session.pipe(perRequest, externallyOwned()))).not.toThrow();
    expect(accepted(Registration.fromClass(Plain).pipe(perRequest))).not.toThrow();
    expect(accepted(Registration.fromFactory(() => new Session()).pipe(perRequest))).not.toThrow();
  });

  it('is no problem without a predicate: a plain transient belongs to the caller', () => {
    expect(accepted(Registration.fromClass(Session))).not.toThrow();
  });
});
