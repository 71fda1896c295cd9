import 'reflect-metadata';
import { Container } from 'inversify';

/** Factories were faster here than classes with metadata, `toResolvedValue`, or its code generation. */
const bind = (container, services) => {
  for (const { key, type, deps, ends } of services) {
    const make = (context) => new type(...deps.map((dep) => context.get(dep)));
    const binding = container.bind(key).toDynamicValue(make).inSingletonScope();
    if (ends) binding.onDeactivation((it) => it.dispose());
  }
};

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'inversify',
  package: 'inversify',
  scopes: 'bound again in each',
  ends: 'awaited',
  setup(services) {
    const app = new Container();
    bind(
      app,
      services.filter((it) => it.life === 'app'),
    );
    const perRequest = services.filter((it) => it.life === 'request');
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
