import { hand } from './hand.mjs';

/**
 * A way to open scopes and resolve services. It loads its package when it is set up, in a process of its own.
 *
 * @typedef {object} Contestant
 * @property {string} title
 * @property {string} [package] its name in the registry, for the version in the report
 * @property {string} scopes how a request scope comes to its services
 * @property {'awaited'} disposal how it disposes what a scope created
 * @property {(services: import('./graph.mjs').Service[], work: string) => Running | Promise<Running>} setup
 *
 * @typedef {object} Running an application container with its singletons and request services registered
 * @property {() => any} open
 * @property {(scope: any, key: any) => any} get
 * @property {(scope: any) => void | Promise<void>} close
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

/** @type {Record<string, Contestant>} */
export const contestants = {
  hand,
  ambit,
  inferdi: inferdi('inferdi', {}),
  // Its "fast mode": cycles and captive dependencies go unnoticed at run time.
  'inferdi-fast': inferdi('inferdi, strict: false', { strict: false }),
  awilix,
};
