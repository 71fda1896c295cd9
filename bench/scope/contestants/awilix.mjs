import { InjectionMode, asClass, asFunction, asValue, createContainer } from 'awilix';
import { Audit, Context, LoggedAudit, LoggedContext, LoggedUsers, Users } from '../classes.mjs';
import { listed } from '../factories.mjs';

/** A decorator is one more thing that a factory does. */
const decorated = {
  context: (config) => new LoggedContext(new Context(config)),
  users: (pool, context) => new LoggedUsers(new Users(pool, context)),
  audit: (log, context) => new LoggedAudit(new Audit(log, context)),
};
const fromCradle = {
  context: (cradle) => new Context(cradle.config),
  users: (cradle) => new Users(cradle.pool, cradle.context),
  audit: (cradle) => new Audit(cradle.log, cradle.context),
};
const resolvers = {
  listed: (key) => asFunction(listed[key]),
  'from scope': (key) => asFunction(fromCradle[key]).proxy(),
  decorated: (key) => asFunction(decorated[key]),
};

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'awilix',
  package: 'awilix',
  scopes: 'registered once',
  disposal: 'awaited',
  cliffs: true,
  setup(services) {
    const app = createContainer({ injectionMode: InjectionMode.CLASSIC });
    for (const { key, type, lifetime, disposable, made } of services) {
      const source = made ? resolvers[made](key) : asClass(type);
      const resolver = lifetime === 'app' ? source.singleton() : source.scoped();
      app.register(key, disposable ? resolver.disposer((it) => it.dispose()) : resolver);
    }
    return {
      app,
      open: () => app.createScope(),
      get: (scope, key) => scope.resolve(key),
      close: (scope) => scope.dispose(),
      child: (parent) => parent.createScope(),
      // Its scoped services are made again in each scope: the one of the request is handed on.
      transaction: (request) => request.createScope().register('context', asValue(request.resolve('context'))),
      tagged: (parent, ...tags) => parent.createScope().register('tags', asValue(tags)),
      value: (scope, key, value) => scope.register(key, asValue(value)),
      register: (scope, key, make) => scope.register(key, asFunction(make)),
      faked: (Fake) => ({ scope: app.createScope().register('config', asValue(new Fake())), restore() {} }),
    };
  },
};
