import 'reflect-metadata';
import { Lifecycle, container, inject, injectable } from 'tsyringe';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'tsyringe',
  package: 'tsyringe',
  scopes: 'registered once, copied to each',
  disposal: 'awaited',
  setup(services) {
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
