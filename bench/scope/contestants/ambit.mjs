import { Container, MetadataInjector, Registration, hasTag, scope, singleton } from '@ambit/container';

const inRequest = scope(hasTag('request'));
const request = { tags: ['request'] };

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit',
  package: '@ambit/container',
  scopes: 'registered once',
  ends: 'awaited',
  setup(services) {
    const app = new Container(new MetadataInjector(), { tags: ['application'] });
    for (const { key, type, deps, life } of services) {
      const modifiers = life === 'request' ? [singleton(), inRequest] : [singleton()];
      app.addRegistration(
        Registration.fromClass(type, deps)
          .pipe(...modifiers)
          .to(key),
      );
    }
    return {
      open: () => app.createScope(request),
      get: (it, key) => it.resolve(key),
      close: (it) => it.dispose(),
    };
  },
};
