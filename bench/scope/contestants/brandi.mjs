import { createContainer, injected, token } from 'brandi';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'brandi',
  package: 'brandi',
  scopes: 'registered once',
  disposal: 'no',
  setup(services) {
    const tokens = Object.fromEntries(services.map(({ key }) => [key, token(key)]));
    const app = createContainer();
    for (const { key, type, deps, lifetime } of services) {
      injected(type, ...deps.map((dep) => tokens[dep]));
      const binding = app.bind(tokens[key]).toInstance(type);
      if (lifetime === 'request') binding.inContainerScope();
      else binding.inSingletonScope();
    }
    return {
      key: (key) => tokens[key],
      open: () => createContainer().extend(app),
      get: (scope, key) => scope.get(key),
      close() {},
    };
  },
};
