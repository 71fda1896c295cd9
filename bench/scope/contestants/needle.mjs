import { Container } from '@needle-di/core';

const provider = ({ key, type, deps }) => ({
  provide: key,
  useFactory: (it) => new type(...deps.map((dep) => it.get(dep))),
});

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'needle-di',
  package: '@needle-di/core',
  scopes: 'bound again in each',
  disposal: 'no',
  setup(services) {
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
