import { InjectionMode, asClass, createContainer } from 'awilix';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'awilix',
  package: 'awilix',
  scopes: 'registered once',
  ends: 'awaited',
  setup(services) {
    const app = createContainer({ injectionMode: InjectionMode.CLASSIC });
    for (const { key, type, life, ends } of services) {
      const resolver = life === 'request' ? asClass(type).scoped() : asClass(type).singleton();
      app.register(key, ends ? resolver.disposer((it) => it.dispose()) : resolver);
    }
    return {
      open: () => app.createScope(),
      get: (scope, key) => scope.resolve(key),
      close: (scope) => scope.dispose(),
    };
  },
};
