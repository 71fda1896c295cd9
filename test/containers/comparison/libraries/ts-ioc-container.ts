import 'reflect-metadata';
import {
  AddOnDisposeHookModule,
  bindTo,
  Container,
  type HookFn,
  type IContainer,
  inject,
  injectProp,
  onConstruct,
  onConstructHooksRunner,
  onDispose,
  ProxyInjector,
  register,
  Registration as R,
  scope,
  singleton,
} from 'ts-ioc-container';
import type { Library, Scope } from '../library.js';
import { Clock, connect, Left, Pool, Right, Users, Visit, Welcome } from '../services.js';

const isTagged = (tag: string) => (owner: { hasTag: (name: string) => boolean }) => owner.hasTag(tag);
const tagged = (tag: string) => scope(isTagged(tag));
const empty = () => new Container({ tags: ['application'] });

const view = (container: IContainer): Scope => ({
  visit: () => container.resolve('visit'),
  pool: () => container.resolve('pool'),
  open: (tag) => view(container.createScope({ tags: [tag] })),
});

// `dispose()` is synchronous: a hook that returns a promise is an error, so nobody learns how the promise settles.
const invoke: HookFn = (context) => {
  const result: unknown = context.invokeMethod();
  if (result instanceof Promise) result.catch(() => undefined);
};

class DecoratedUsers extends Users {
  constructor(@inject('pool') pool: Pool) {
    super(pool);
  }
}

export const library: Library = {
  title: 'ts-ioc-container',
  file: 'ts-ioc-container.ts',
  package: 'ts-ioc-container',
  scopes() {
    return view(
      empty()
        .addRegistration(R.fromClass(Visit).bindTo('visit').when(isTagged('request')).pipe(singleton()))
        .addRegistration(R.fromClass(Pool).bindTo('pool').when(isTagged('application')).pipe(singleton())),
    );
  },
  disposal(lifetime, { first, second, third }) {
    @register(bindTo('first'), tagged(lifetime), singleton())
    class First {
      @onDispose(invoke)
      close() {
        return first();
      }
    }
    @register(bindTo('second'), tagged(lifetime), singleton())
    class Second {
      constructor(@inject('first') readonly needed: First) {}
      @onDispose(invoke)
      close() {
        return second();
      }
    }
    @register(bindTo('third'), tagged(lifetime), singleton())
    class Third {
      constructor(@inject('second') readonly needed: Second) {}
      @onDispose(invoke)
      close() {
        return third();
      }
    }
    const container = empty()
      .useModule(new AddOnDisposeHookModule())
      .addRegistration(R.fromClass(First))
      .addRegistration(R.fromClass(Second))
      .addRegistration(R.fromClass(Third));
    const owner = lifetime === 'request' ? container.createScope({ tags: ['request'] }) : container;
    return {
      resolveThird: () => owner.resolve('third'),
      dispose: () => owner.dispose(),
      disposeApplication: () => container.dispose(),
    };
  },
  captive() {
    class Decorated extends Welcome {
      constructor(@inject('visit') visit: Visit) {
        super(visit);
      }
    }
    const container = empty()
      .addRegistration(R.fromClass(Visit).bindTo('visit').when(isTagged('request')).pipe(singleton()))
      .addRegistration(R.fromClass(Decorated).bindTo('welcome').when(isTagged('application')).pipe(singleton()));
    return { resolve: () => container.createScope({ tags: ['request'] }).resolve('welcome') };
  },
  circular() {
    class DecoratedLeft extends Left {
      constructor(@inject('right') right: unknown) {
        super(right);
      }
    }
    class DecoratedRight extends Right {
      constructor(@inject('left') left: unknown) {
        super(left);
      }
    }
    const container = empty()
      .addRegistration(R.fromClass(DecoratedLeft).bindTo('left').pipe(singleton()))
      .addRegistration(R.fromClass(DecoratedRight).bindTo('right').pipe(singleton()));
    return { resolve: () => container.resolve('left') };
  },
  missing() {
    class Decorated extends Users {
      constructor(@inject('absent') pool: Pool) {
        super(pool);
      }
    }
    const container = empty().addRegistration(R.fromClass(Decorated).bindTo('users'));
    return { resolve: () => container.resolve('users') };
  },
  misspelt() {
    const container = empty().addRegistration(R.fromClass(Pool).bindTo('pool'));
    return { resolve: () => container.resolve('misspelt') };
  },
  mismatch() {
    const container = empty()
      .addRegistration(R.fromClass(Clock).bindTo('pool'))
      .addRegistration(R.fromClass(DecoratedUsers).bindTo('users'));
    return { resolve: () => container.resolve('users') };
  },
  wireClass() {
    class Proxied extends Users {
      constructor({ pool }: { pool: Pool }) {
        super(pool);
      }
    }
    return new Container({ injector: new ProxyInjector() })
      .addRegistration(R.fromClass(Pool).bindTo('pool'))
      .addRegistration(R.fromClass(Proxied).bindTo('users'))
      .resolve('users');
  },
  wireFactory() {
    return empty()
      .addRegistration(R.fromClass(Pool).bindTo('pool'))
      .addRegistration(R.fromFn((container) => new Users(container.resolve('pool'))).bindTo('users'))
      .resolve('users');
  },
  wireDecorated() {
    return empty()
      .addRegistration(R.fromClass(Pool).bindTo('pool'))
      .addRegistration(R.fromClass(DecoratedUsers).bindTo('users'))
      .resolve('users');
  },
  wireByName() {
    // Without `bindTo`, the key is the name of the class.
    class Named extends Users {
      constructor(@inject('Pool') pool: Pool) {
        super(pool);
      }
    }
    return empty().addRegistration(R.fromClass(Pool)).addRegistration(R.fromClass(Named)).resolve('Named');
  },
  asyncFactory() {
    return empty()
      .addRegistration(R.fromFn(connect).bindTo('pool').pipe(singleton()))
      .addRegistration(R.fromClass(DecoratedUsers).bindTo('users'))
      .resolve('users');
  },
  property() {
    class Decorated {
      @onConstruct(injectProp('pool'))
      declare readonly pool: Pool;
    }
    const container = empty()
      .addRegistration(R.fromClass(Pool).bindTo('pool'))
      .addRegistration(R.fromClass(Decorated).bindTo('users'));
    const users = container.resolve<Decorated>('users');
    onConstructHooksRunner.execute(users, { scope: container });
    return users;
  },
};
