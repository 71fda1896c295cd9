import { Scope, createInjector } from 'typed-inject';

/** Every provider is an injector of its own and belongs to the injector it was added to, so a scope adds them again. */
const provide = (injector, services) =>
  services.reduce((inner, { key, type }) => inner.provideClass(key, type, Scope.Singleton), injector);

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'typed-inject',
  package: 'typed-inject',
  scopes: 'provided again in each',
  disposal: 'awaited',
  // A provider asks the one before it: with 5,000 in a row, the stack overflows.
  cannot: ['big', 'main, 5,000 registrations'],
  setup(services) {
    for (const { type, deps } of services) type.inject = deps;
    const app = provide(
      createInjector(),
      services.filter((it) => it.lifetime === 'app'),
    );
    const perRequest = services.filter((it) => it.lifetime === 'request');
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
