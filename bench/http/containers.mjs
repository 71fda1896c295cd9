import { Container, MetadataInjector, Registration, hasTag, scope, singleton } from '@ambit/container';
import { InjectionMode, asClass, createContainer } from 'awilix';
import { describe } from './graph.mjs';
import { instantPool } from './instant-pool.mjs';

export function ambitContainer() {
  const app = new Container(new MetadataInjector(), { tags: ['application'] });
  describe((lifetime, key, type, ...deps) => {
    const modifiers = lifetime === 'request' ? [singleton(), scope(hasTag('request'))] : [singleton()];
    app.addRegistration(
      Registration.fromClass(type, deps)
        .pipe(...modifiers)
        .to(key),
    );
  });
  app.register('IDatabasePool', () => instantPool);
  return app;
}

/** In its faster mode, which reads the names of the constructors' parameters. */
export function awilixContainer() {
  const app = createContainer({ injectionMode: InjectionMode.CLASSIC });
  describe((lifetime, key, type) => {
    app.register(key, lifetime === 'request' ? asClass(type).scoped() : asClass(type).singleton());
  });
  return app;
}
