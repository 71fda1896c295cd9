import { Container } from '@inferdi/inferdi';

/** @type {(options: object) => import('../contestant.mjs').Contestant['setup']} */
export const setupWith = (options) => (services) => {
  const app = new Container(options);
  for (const { key, type, deps, life } of services) {
    app.registerClass(key, type, deps, life === 'request' ? 'scoped' : 'singleton');
  }
  return {
    open: () => app.createScope(),
    get: (scope, key) => scope.get(key),
    close: (scope) => scope.dispose(),
  };
};

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'inferdi',
  package: '@inferdi/inferdi',
  scopes: 'registered once',
  ends: 'awaited',
  setup: setupWith({}),
};
