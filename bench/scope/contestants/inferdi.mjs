import { Container } from '@inferdi/inferdi';
import { Audit, Context, LoggedAudit, LoggedContext, LoggedUsers, Users } from '../classes.mjs';

const context = (it) => new Context(it.get('config'));
const users = (it) => new Users(it.get('pool'), it.get('context'));
const audit = (it) => new Audit(it.get('log'), it.get('context'));

/** Its factories get the container; a decorator is one more thing that a factory does. */
const factories = {
  listed: { context, users, audit },
  'from scope': { context, users, audit },
  decorated: {
    context: (it) => new LoggedContext(new Context(it.get('config'))),
    users: (it) => new LoggedUsers(new Users(it.get('pool'), it.get('context'))),
    audit: (it) => new LoggedAudit(new Audit(it.get('log'), it.get('context'))),
  },
};

/** @type {(options: object) => import('../contestant.mjs').Contestant['setup']} */
export const setupWith = (options) => (services) => {
  const app = new Container(options);
  for (const { key, type, deps, lifetime, made } of services) {
    const kind = lifetime === 'app' ? 'singleton' : 'scoped';
    if (made) app.registerFactory(key, factories[made][key], kind);
    else app.registerClass(key, type, deps, kind);
  }
  return {
    app,
    open: () => app.createScope(),
    get: (scope, key) => scope.get(key),
    close: (scope) => scope.dispose(),
    child: (parent) => parent.createScope(),
    // Its scoped services are made again in each scope: the one of the request is handed on.
    transaction: (request) => request.createScope().registerValue('context', request.get('context')),
    tagged: (parent, ...tags) => parent.createScope().registerValue('tags', tags),
    value: (scope, key, value) => scope.registerValue(key, value),
    register: (scope, key, make) => scope.registerFactory(key, make, 'transient'),
    faked: (Fake) => ({ scope: app.createScope().override('config', new Fake()), restore() {} }),
  };
};

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'inferdi',
  package: '@inferdi/inferdi',
  scopes: 'registered once',
  disposal: 'awaited',
  cliffs: true,
  setup: setupWith({}),
};
