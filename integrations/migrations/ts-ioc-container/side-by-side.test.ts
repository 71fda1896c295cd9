// What the page on ts-ioc-container says of both containers, asked of both.
import 'reflect-metadata';
import * as ambit from '@ambit/container';
import { graph, openScopes } from '@ambit/container/tools';
import * as old from 'ts-ioc-container';
import { describe, expect, it } from 'vitest';

const { Registration: R } = ambit;
const { Registration: OldR } = old;

class Pool {
  constructor(readonly size = 10) {}
}

const invoke: old.HookFn = (context) => void context.invokeMethod();

function oldContainer(...registrations: old.IRegistration[]): old.Container {
  const container = new old.Container({ tags: ['application'] }).useModule(new old.AddOnDisposeHookModule());
  for (const registration of registrations) container.addRegistration(registration);
  return container;
}

function newContainer(...registrations: readonly ambit.Binding[]): ambit.Container {
  const container = new ambit.Container({ tags: ['application'] });
  for (const registration of registrations) container.addRegistration(registration);
  return container;
}

const oldRequest = (container: old.IContainer) => container.createScope({ tags: ['request'] });
const newRequest = (container: ambit.Container) => container.createScope({ tags: ['request'] });

const oldTagged = <T>(value: T, key: string, tag: string) =>
  OldR.fromValue(value)
    .bindTo(key)
    .when((s) => s.hasTag(tag));
const newTagged = <T>(value: T, key: string, tag: string) =>
  R.fromValue(value)
    .pipe(ambit.scope(ambit.hasTag(tag)))
    .to(key);

/** Classes whose instances say when they are disposed, or fail to be. */
function disposables(log: string[], fails: (name: string) => boolean = () => false) {
  const closed = (name: string): void => {
    log.push(name);
    if (fails(name)) throw new Error(`${name} failed`);
  };
  class Db {
    dispose = () => closed('db');
    @old.onDispose(invoke)
    close() {
      closed('db');
    }
  }
  class Repository {
    dispose = () => closed('repository');
    constructor(@old.inject('db') readonly db: unknown) {}
    @old.onDispose(invoke)
    close() {
      closed('repository');
    }
  }
  return { Db, Repository };
}

interface Question {
  readonly asked: string;
  readonly there: () => unknown;
  readonly here: () => unknown;
}

const same: readonly (Question & { readonly both: unknown })[] = [
  {
    asked: 'a class as a key needs no registration, and is a new instance each time',
    there: () => oldContainer().resolve(Pool) === oldContainer().resolve(Pool),
    here: () => newContainer().resolve(Pool) === newContainer().resolve(Pool),
    both: false,
  },
  {
    asked: 'bindTo() is to()',
    there: () => oldContainer(OldR.fromValue(1).bindTo('a')).resolve('a'),
    here: () => newContainer(R.fromValue(1).to('a')).resolve('a'),
    both: 1,
  },
  {
    asked: 'fromFn() is fromFactory()',
    there: () =>
      oldContainer(oldTagged(1, 'a', 'application'), OldR.fromFn((s) => s.resolve('a')).bindTo('b')).resolve('b'),
    here: () =>
      newContainer(newTagged(1, 'a', 'application'), R.fromFactory((s) => s.resolve('a')).to('b')).resolve('b'),
    both: 1,
  },
  {
    asked: 'fromKey() is alias()',
    there: () => {
      const container = oldContainer(
        OldR.fromClass(Pool).bindTo('pool').pipe(old.singleton()),
        OldR.fromKey('pool').bindTo('db'),
      );
      return container.resolve('pool') === container.resolve('db');
    },
    here: () => {
      const container = newContainer(R.fromClass(Pool).pipe(ambit.singleton()).to('pool'), R.alias('pool').to('db'));
      return container.resolve('pool') === container.resolve('db');
    },
    both: true,
  },
  {
    asked: 'the name of the class is a key only if it is written',
    there: () => oldContainer(OldR.fromClass(Pool)).resolve<Pool>('Pool').size,
    here: () => newContainer(R.fromClass(Pool).to('Pool')).resolve<Pool>('Pool').size,
    both: 10,
  },
  {
    asked: 'hasTag() is about the scope itself',
    there: () => oldRequest(oldContainer()).hasTag('application'),
    here: () => newRequest(newContainer()).hasTag('application'),
    both: false,
  },
  {
    asked: 'decorate() applies in the order given',
    there: () =>
      oldContainer(
        OldR.fromValue<unknown>('x')
          .bindTo('x')
          .pipe(
            old.decorate(
              (x) => `a(${x})`,
              (x) => `b(${x})`,
            ),
          ),
      ).resolve('x'),
    here: () =>
      newContainer(
        R.fromValue('x')
          .pipe(
            ambit.decorate((x) => `a(${x})`),
            ambit.decorate((x) => `b(${x})`),
          )
          .to('x'),
      ).resolve('x'),
    both: 'b(a(x))',
  },
  {
    asked: 'the last registration of a key replaces the one before',
    there: () => oldContainer(OldR.fromValue(1).bindTo('a'), OldR.fromValue(2).bindTo('a')).resolve('a'),
    here: () => newContainer(R.fromValue(1).to('a'), R.fromValue(2).to('a')).resolve('a'),
    both: 2,
  },
  {
    asked: 'appendArgs() and arguments of resolve() are those of a function',
    there: () => {
      class Page {
        constructor(@old.inject(old.args(0)) readonly size: number) {}
      }
      const container = oldContainer(
        OldR.fromClass(Page).bindTo('page'),
        OldR.fromClass(Page).bindTo('long').pipe(old.appendArgs(50)),
      );
      return [container.resolve<Page>('page', { args: [20] }).size, container.resolve<Page>('long').size];
    },
    here: () => {
      const container = newContainer(
        R.fromFactory(() => (size: number) => ({ size })).to('page'),
        R.fromFactory((scope) => scope.resolve<(size: number) => unknown>('page')(50)).to('long'),
      );
      return [
        container.resolve<(size: number) => { size: number }>('page')(20).size,
        container.resolve<{ size: number }>('long').size,
      ];
    },
    both: [20, 50],
  },
  {
    asked: 'getScopes() is openScopes()',
    there: () => {
      const container = oldContainer();
      oldRequest(container);
      oldRequest(container).dispose();
      return container.getScopes().length;
    },
    here: async () => {
      const container = newContainer();
      newRequest(container);
      await newRequest(container).dispose();
      return openScopes(container).length;
    },
    both: 1,
  },
  {
    asked: 'getRegistrations() is graph()',
    there: () =>
      oldContainer(OldR.fromValue(1).bindTo('a'))
        .getRegistrations()
        .map((registration) => registration.getKeyOrFail()),
    here: () => graph(newContainer(R.fromValue(1).to('a'))).nodes.map(({ key }) => key),
    both: ['a'],
  },
  {
    asked: 'what a wrapper without dispose() wraps is disposed',
    there: () => {
      const log: string[] = [];
      const wrap = (db: object) => ({ db });
      const container = oldContainer(
        OldR.fromClass(disposables(log).Db).bindTo('db').pipe(old.singleton(), old.decorate(wrap)),
      );
      container.resolve('db');
      container.dispose();
      return log;
    },
    here: async () => {
      const log: string[] = [];
      const wrap = (db: object) => ({ db });
      const container = newContainer(
        R.fromClass(disposables(log).Db).pipe(ambit.singleton(), ambit.decorate(wrap)).to('db'),
      );
      container.resolve('db');
      await container.dispose();
      return log;
    },
    both: ['db'],
  },
  {
    asked: 'values are not disposed',
    there: () => {
      const log: string[] = [];
      const container = oldContainer(OldR.fromValue(new (disposables(log).Db)()).bindTo('db'));
      container.resolve('db');
      container.dispose();
      return log;
    },
    here: async () => {
      const log: string[] = [];
      const container = newContainer(R.fromValue(new (disposables(log).Db)()).to('db'));
      container.resolve('db');
      await container.dispose();
      return log;
    },
    both: [],
  },
];

/** Disposes a container that has resolved a repository and its database. */
async function disposeOld(fails?: (name: string) => boolean): Promise<string[]> {
  const log: string[] = [];
  const { Db, Repository } = disposables(log, fails);
  const container = oldContainer(
    OldR.fromClass(Db).bindTo('db').pipe(old.singleton()),
    OldR.fromClass(Repository).bindTo('repository').pipe(old.singleton()),
  );
  container.resolve('repository');
  try {
    container.dispose();
  } catch (error) {
    log.push((error as Error).message);
  }
  return log;
}

async function disposeNew(fails?: (name: string) => boolean): Promise<string[]> {
  const log: string[] = [];
  const { Db, Repository } = disposables(log, fails);
  const container = newContainer(
    R.fromClass(Db).pipe(ambit.singleton()).to('db'),
    R.fromFactory((db) => new Repository(db), ['db'])
      .pipe(ambit.singleton())
      .to('repository'),
  );
  container.resolve('repository');
  try {
    await container.dispose();
  } catch (error) {
    log.push(...(error as ambit.DisposeError).failures.map(({ error: failure }) => (failure as Error).message));
  }
  return log;
}

const different: readonly (Question & { readonly atOld: unknown; readonly atAmbit: unknown })[] = [
  {
    asked: 'a factory of register() is called for each resolve, or once',
    there: () => {
      let count = 0;
      const container = oldContainer().register('count', new old.Provider(() => (count += 1)));
      return [container.resolve('count'), oldRequest(container).resolve('count')];
    },
    here: () => {
      let count = 0;
      const container = newContainer().register('count', () => (count += 1));
      return [container.resolve('count'), newRequest(container).resolve('count')];
    },
    atOld: [1, 2],
    atAmbit: [1, 1],
  },
  {
    asked: 'singleton() without a scope rule: is it the same in a scope below?',
    there: () => {
      const container = oldContainer(OldR.fromClass(Pool).bindTo('pool').pipe(old.singleton()));
      return container.resolve('pool') === oldRequest(container).resolve('pool');
    },
    atOld: false,
    here: () => {
      const container = newContainer(R.fromClass(Pool).pipe(ambit.singleton()).to('pool'));
      return container.resolve('pool') === newRequest(container).resolve('pool');
    },
    atAmbit: true,
  },
  {
    asked: 'in which order is disposed?',
    there: () => disposeOld(),
    atOld: ['db', 'repository'],
    here: () => disposeNew(),
    atAmbit: ['repository', 'db'],
  },
  {
    asked: 'what runs after a disposer that throws?',
    there: () => disposeOld((name) => name === 'db'),
    atOld: ['db', 'db failed'],
    here: () => disposeNew((name) => name === 'repository'),
    atAmbit: ['repository', 'db', 'repository failed'],
  },
  {
    asked: 'are transient services disposed?',
    there: () => {
      const log: string[] = [];
      const container = oldContainer(OldR.fromClass(disposables(log).Db).bindTo('db'));
      container.resolve('db');
      container.dispose();
      return log;
    },
    atOld: ['db'],
    here: async () => {
      const log: string[] = [];
      const container = newContainer(R.fromClass(disposables(log).Db).to('db'));
      container.resolve('db');
      await container.dispose();
      return log;
    },
    atAmbit: [],
  },
  {
    asked: 'what is disposed where decorate() returns a wrapper that has dispose()?',
    there: () => {
      const log: string[] = [];
      const wrap = (db: object) => ({ db, dispose: () => log.push('wrapper') });
      const container = oldContainer(
        OldR.fromClass(disposables(log).Db).bindTo('db').pipe(old.singleton(), old.decorate(wrap)),
      );
      container.resolve('db');
      container.dispose();
      return log;
    },
    atOld: ['db'],
    here: async () => {
      const log: string[] = [];
      const wrap = (db: object) => ({ db, dispose: () => log.push('wrapper') });
      const container = newContainer(
        R.fromClass(disposables(log).Db).pipe(ambit.singleton(), ambit.decorate(wrap)).to('db'),
      );
      container.resolve('db');
      await container.dispose();
      return log;
    },
    atAmbit: ['wrapper'],
  },
  {
    asked: 'are scopes below disposed?',
    there: () => {
      const container = oldContainer();
      const request = oldRequest(container);
      container.dispose();
      return request.isDisposed;
    },
    atOld: false,
    here: async () => {
      const container = newContainer();
      const request = newRequest(container);
      await container.dispose();
      return request.disposed;
    },
    atAmbit: true,
  },
  {
    asked: 'for which scopes does a dispose hook of the application run?',
    there: () => {
      const log: string[] = [];
      const container = oldContainer().addOnDisposeHook(
        (s) => void log.push(s.hasTag('request') ? 'request' : 'application'),
      );
      oldRequest(container).dispose();
      container.dispose();
      return log;
    },
    atOld: ['request', 'application'],
    here: async () => {
      const log: string[] = [];
      const container = newContainer();
      container.defer(() => log.push('application'));
      await newRequest(container).dispose();
      await container.dispose();
      return log;
    },
    atAmbit: ['application'],
  },
  {
    asked: 'in which order are several services of one key listed, and which is the only one?',
    there: () => {
      const rule = (name: string, tag: string) => oldTagged(name, name, tag).bindToAlias('rule');
      const container = oldContainer(rule('a1', 'application'), rule('a2', 'application'), rule('r1', 'request'));
      return [oldRequest(container).resolveByAlias('rule'), container.resolveOneByAlias('rule')];
    },
    atOld: [['r1', 'a1', 'a2'], 'a1'],
    here: () => {
      const rule = (name: string, tag: string) => newTagged(name, 'rule', tag);
      const container = newContainer(rule('a1', 'application'), rule('a2', 'application'), rule('r1', 'request'));
      return [newRequest(container).resolveAll('rule'), container.resolve('rule')];
    },
    atAmbit: [['a1', 'a2', 'r1'], 'a2'],
  },
  {
    asked: 'does one of two scope rules suffice?',
    there: () => oldContainer(oldTagged(1, 'a', 'request').when((s) => s.hasTag('application'))).resolve('a'),
    atOld: 1,
    here: () => {
      const { scope, hasTag } = ambit;
      return newContainer(
        R.fromValue(1)
          .pipe(scope(hasTag('request')), scope(hasTag('application')))
          .to('a'),
      ).has('a');
    },
    atAmbit: false,
  },
  {
    asked: 'where does a transient service with a scope rule take its dependencies from?',
    there: () => {
      const who = OldR.fromFn((s) => s.resolve('name'))
        .bindTo('who')
        .when((s) => s.hasTag('request'));
      const container = oldContainer(
        who,
        oldTagged('request', 'name', 'request'),
        oldTagged('transaction', 'name', 'transaction'),
      );
      return oldRequest(container)
        .createScope({ tags: ['transaction'] })
        .resolve('who');
    },
    atOld: 'request',
    here: () => {
      const who = R.fromFactory((s) => s.resolve('name'))
        .pipe(ambit.scope(ambit.hasTag('request')))
        .to('who');
      const container = newContainer(
        who,
        newTagged('request', 'name', 'request'),
        newTagged('transaction', 'name', 'transaction'),
      );
      return newRequest(container)
        .createScope({ tags: ['transaction'] })
        .resolve('who');
    },
    atAmbit: 'transaction',
  },
  {
    asked: 'what is a parameter without a key?',
    there: () => {
      class Two {
        readonly second: unknown;
        constructor(@old.inject('a') first: unknown, second: unknown) {
          this.second = [first, second];
        }
      }
      return oldContainer(OldR.fromValue(1).bindTo('a')).resolve(Two).second;
    },
    atOld: [1, undefined],
    here: () => {
      class Two {
        constructor(readonly first: unknown) {}
      }
      return codeOf(() => newContainer().resolve(Two));
    },
    atAmbit: 'AMBIT_NO_KEY_FOR_PARAMETER',
  },
  {
    asked: 'does a subclass without a constructor inherit @inject?',
    there: () => {
      class Base {
        constructor(@old.inject('a') readonly a: unknown) {}
      }
      class Derived extends Base {}
      return oldContainer(OldR.fromValue(1).bindTo('a')).resolve(Derived).a;
    },
    atOld: undefined,
    here: () => {
      class Base {
        constructor(@ambit.inject('a') readonly a: unknown) {}
      }
      class Derived extends Base {}
      return newContainer(R.fromValue(1).to('a')).resolve(Derived).a;
    },
    atAmbit: 1,
  },
  {
    asked: 'does the container have a key that is for other scopes, and one of register()?',
    there: () => {
      const container = oldContainer(oldTagged(1, 'a', 'request')).register('b', old.Provider.fromValue(1));
      return [container.hasRegistration('a'), container.hasRegistration('b')];
    },
    atOld: [true, false],
    here: () => {
      const container = newContainer(newTagged(1, 'a', 'request')).register('b', () => 1);
      return [container.has('a'), container.has('b')];
    },
    atAmbit: [false, true],
  },
  {
    asked: 'is a registration that comes late seen by an open scope?',
    there: () => {
      const container = oldContainer();
      const request = oldRequest(container);
      container.addRegistration(oldTagged(1, 'a', 'request'));
      try {
        return request.resolve('a');
      } catch (error) {
        return (error as Error).name;
      }
    },
    atOld: 'DependencyNotFoundError',
    here: () => {
      const container = newContainer();
      const request = newRequest(container);
      container.addRegistration(newTagged(1, 'a', 'request'));
      return request.resolve('a');
    },
    atAmbit: 1,
  },
];

function codeOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return (error as ambit.ContainerError).code;
  }
}

describe('ts-ioc-container and Ambit do the same', () => {
  it.each(same)('$asked', async ({ there, here, both }) => {
    expect(await there()).toEqual(both);
    expect(await here()).toEqual(both);
  });
});

describe('ts-ioc-container and Ambit differ', () => {
  it.each(different)('$asked', async ({ there, atOld, here, atAmbit }) => {
    expect(await there()).toEqual(atOld);
    expect(await here()).toEqual(atAmbit);
  });
});
