import 'reflect-metadata';
import { Container } from 'inversify';

/** Factories were faster here than classes with metadata, `toResolvedValue`, or its code generation. */
const bind = (container, services) => {
  for (const { key, type, deps, disposable } of services) {
    const make = (context) => new type(...deps.map((dep) => context.get(dep)));
    const binding = container.bind(key).toDynamicValue(make).inSingletonScope();
    if (disposable) binding.onDeactivation((it) => it.dispose());
  }
};

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'inversify',
  package: 'inversify',
  scopes: 'bound again in each',
  disposal: 'awaited',
  setup(services) {
    const app = new Container();
    bind(
      app,
      services.filter((it) => it.lifetime === 'app'),
    );
    const perRequest = services.filter((it) => it.lifetime === 'request');
    return {
      open() {
        const child = new Container({ parent: app });
        bind(child, perRequest);
        return child;
      },
      get: (scope, key) => scope.get(key),
      close: (scope) => scope.unbindAllAsync(),
    };
  },
};
