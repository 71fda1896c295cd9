import { hand } from './hand.mjs';

/**
 * A way to open scopes and resolve services. It loads its package when it is set up, in a process of its own.
 *
 * @typedef {object} Contestant
 * @property {string} title
 * @property {string} [package] its name in the registry, for the version in the report
 * @property {string} scopes how a request scope comes to its services
 * @property {'awaited' | 'no'} disposal how it disposes what a scope created
 * @property {string[]} [cannot] works it fails at
 * @property {(services: import('./graph.mjs').Service[], work: string) => Running | Promise<Running>} setup
 *
 * @typedef {object} Running an application container with its singletons and request services registered
 * @property {() => any} open
 * @property {(scope: any, key: any) => any} get
 * @property {(scope: any) => void | Promise<void>} close
 * @property {(key: string) => any} [key] the token that stands for a key, where strings do not do
 * @property {(scope: any) => void} [visit] the work itself, where nothing is looked up by key
 */

/** @type {Contestant} */
const ambit = {
  title: 'ambit',
  package: '@ambit/container',
  scopes: 'registered once',
  disposal: 'awaited',
  async setup(services) {
    const { Container, MetadataInjector, Registration, hasTag, scope, singleton } = await import('@ambit/container');
    const kinds = { app: [singleton()], request: [singleton(), scope(hasTag('request'))] };
    const request = { tags: ['request'] };
    const app = new Container(new MetadataInjector(), { tags: ['application'] });
    for (const { key, type, deps, lifetime } of services) {
      app.addRegistration(
        Registration.fromClass(type, deps)
          .pipe(...kinds[lifetime])
          .to(key),
      );
    }
    return { open: () => app.createScope(request), get: (it, key) => it.resolve(key), close: (it) => it.dispose() };
  },
};

/** @type {(title: string, options: object) => Contestant} */
const inferdi = (title, options) => ({
  title,
  package: '@inferdi/inferdi',
  scopes: 'registered once',
  disposal: 'awaited',
  async setup(services) {
    const { Container } = await import('@inferdi/inferdi');
    const app = new Container(options);
    for (const { key, type, deps, lifetime } of services)
      app.registerClass(key, type, deps, lifetime === 'app' ? 'singleton' : 'scoped');
    return { open: () => app.createScope(), get: (scope, key) => scope.get(key), close: (scope) => scope.dispose() };
  },
});

/** @type {Contestant} */
const awilix = {
  title: 'awilix',
  package: 'awilix',
  scopes: 'registered once',
  disposal: 'awaited',
  async setup(services) {
    const { InjectionMode, asClass, createContainer } = await import('awilix');
    const app = createContainer({ injectionMode: InjectionMode.CLASSIC });
    for (const { key, type, lifetime, disposable } of services) {
      const resolver = lifetime === 'app' ? asClass(type).singleton() : asClass(type).scoped();
      app.register(key, disposable ? resolver.disposer((it) => it.dispose()) : resolver);
    }
    return {
      open: () => app.createScope(),
      get: (scope, key) => scope.resolve(key),
      close: (scope) => scope.dispose(),
    };
  },
};

/** @type {Contestant} */
const inversify = {
  title: 'inversify',
  package: 'inversify',
  scopes: 'bound again in each',
  disposal: 'awaited',
  async setup(services) {
    await import('reflect-metadata');
    const { Container } = await import('inversify');
    // Factories were faster here than classes with metadata, `toResolvedValue`, or its code generation.
    const of = (lifetime) => services.filter((it) => it.lifetime === lifetime);
    const perRequest = of('request');
    const bind = (container, those) => {
      for (const { key, type, deps, disposable } of those) {
        const make = (context) => new type(...deps.map((dep) => context.get(dep)));
        const binding = container.bind(key).toDynamicValue(make).inSingletonScope();
        if (disposable) binding.onDeactivation((it) => it.dispose());
      }
      return container;
    };
    const app = bind(new Container(), of('app'));
    return {
      open: () => bind(new Container({ parent: app }), perRequest),
      get: (scope, key) => scope.get(key),
      close: (scope) => scope.unbindAllAsync(),
    };
  },
};

/** @type {Contestant} */
const needle = {
  title: 'needle-di',
  package: '@needle-di/core',
  scopes: 'bound again in each',
  disposal: 'no',
  async setup(services) {
    const { Container } = await import('@needle-di/core');
    const provider = ({ key, type, deps }) => ({
      provide: key,
      useFactory: (it) => new type(...deps.map((dep) => it.get(dep))),
    });
    const of = (lifetime) => services.filter((it) => it.lifetime === lifetime).map(provider);
    const app = new Container();
    for (const it of of('app')) app.bind(it);
    const perRequest = of('request');
    return {
      open() {
        const child = app.createChild();
        for (const it of perRequest) child.bind(it);
        return child;
      },
      get: (scope, key) => scope.get(key),
      close() {},
    };
  },
};

/** @type {Contestant} */
const tsIocContainer = {
  title: 'ts-ioc-container',
  package: 'ts-ioc-container',
  scopes: 'registered once, applied to each',
  disposal: 'no',
  async setup(services) {
    const { Container, Registration, singleton } = await import('ts-ioc-container');
    const app = new Container({ tags: ['application'] });
    for (const { key, type, deps, lifetime } of services) {
      // Twice as fast as `fromClass` with `inject` metadata.
      const made = Registration.fromFn((it) => new type(...deps.map((dep) => it.resolve(dep))));
      const tag = lifetime === 'request' ? 'request' : 'application';
      app.addRegistration(
        made
          .when((it) => it.hasTag(tag))
          .pipe(singleton())
          .bindTo(key),
      );
    }
    return {
      open: () => app.createScope({ tags: ['request'] }),
      get: (it, key) => it.resolve(key),
      close: (it) => it.dispose(),
    };
  },
};

/** @type {Contestant} */
const tsyringe = {
  title: 'tsyringe',
  package: 'tsyringe',
  scopes: 'registered once, copied to each',
  disposal: 'awaited',
  async setup(services) {
    await import('reflect-metadata');
    const { Lifecycle, container, inject, injectable } = await import('tsyringe');
    const app = container.createChildContainer();
    for (const { key, type, deps, lifetime } of services) {
      deps.forEach((dep, index) => inject(dep)(type, undefined, index));
      injectable()(type);
      const lifecycle = lifetime === 'request' ? Lifecycle.ContainerScoped : Lifecycle.Singleton;
      app.register(key, { useClass: type }, { lifecycle });
    }
    return {
      open: () => app.createChildContainer(),
      get: (scope, key) => scope.resolve(key),
      close: (scope) => scope.dispose(),
    };
  },
};

/** @type {Contestant} */
const typedInject = {
  title: 'typed-inject',
  package: 'typed-inject',
  scopes: 'provided again in each',
  disposal: 'awaited',
  // A provider asks the one before it: with 5,000 in a row, the stack overflows.
  cannot: ['big', 'main, 5,000 registrations'],
  async setup(services) {
    const { Scope, createInjector } = await import('typed-inject');
    for (const { type, deps } of services) type.inject = deps;
    // A provider is an injector of its own and belongs to the injector it was added to, so a scope adds them again.
    const provide = (injector, those) =>
      those.reduce((inner, { key, type }) => inner.provideClass(key, type, Scope.Singleton), injector);
    const of = (lifetime) => services.filter((it) => it.lifetime === lifetime);
    const app = provide(createInjector(), of('app'));
    const perRequest = of('request');
    return {
      open() {
        const root = app.createChildInjector();
        return { root, leaf: provide(root, perRequest) };
      },
      get: (scope, key) => scope.leaf.resolve(key),
      close: (scope) => scope.root.dispose(),
    };
  },
};

/** @type {Record<string, Contestant>} */
export const contestants = {
  hand,
  ambit,
  inferdi: inferdi('inferdi', {}),
  // Its "fast mode": cycles and captive dependencies go unnoticed at run time.
  'inferdi-fast': inferdi('inferdi, strict: false', { strict: false }),
  awilix,
  inversify,
  needle,
  'ts-ioc-container': tsIocContainer,
  tsyringe,
  'typed-inject': typedInject,
};
