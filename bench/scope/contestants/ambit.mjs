import { Container, MetadataInjector, Registration, decorate, hasTag, scope, singleton } from '@ambit/container';
import { override } from '@ambit/container/tools';
import { Audit, Context, Users } from '../classes.mjs';
import { listed, wraps } from '../factories.mjs';

const inRequest = scope(hasTag('request'));
const kinds = {
  app: [singleton()],
  request: [singleton(), inRequest],
  'request or job': [singleton(), scope((it) => it.hasTag('request') || it.hasTag('job'))],
  transaction: [singleton(), scope(hasTag('transaction'))],
};
const request = { tags: ['request'] };
const transaction = { tags: ['transaction'] };

const fromScope = {
  context: (it) => new Context(it.resolve('config')),
  users: (it) => new Users(it.resolve('pool'), it.resolve('context')),
  audit: (it) => new Audit(it.resolve('log'), it.resolve('context')),
};
const sources = {
  listed: ({ key, deps }) => Registration.fromFactory(listed[key], deps),
  'from scope': ({ key }) => Registration.fromFactory(fromScope[key]),
  decorated: ({ key, type, deps }) => Registration.fromClass(type, deps).pipe(decorate(wraps[key])),
};

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit',
  package: '@ambit/container',
  scopes: 'registered once',
  disposal: 'awaited',
  cliffs: true,
  setup(services) {
    const app = new Container(new MetadataInjector(), { tags: ['application'] });
    for (const service of services) {
      const { key, type, deps, lifetime, made } = service;
      const source = made ? sources[made](service) : Registration.fromClass(type, deps);
      app.addRegistration(source.pipe(...kinds[lifetime]).to(key));
    }
    return {
      app,
      open: () => app.createScope(request),
      get: (it, key) => it.resolve(key),
      close: (it) => it.dispose(),
      child: (parent, tags) => parent.createScope({ tags }),
      transaction: (parent) => parent.createScope(transaction),
      tagged: (parent, ...tags) => parent.createScope({ tags }),
      value: (it, key, value) => it.addRegistration(Registration.fromValue(value).to(key)),
      register: (it, key, make) => it.register(key, make),
      faked(Fake) {
        const faking = override(app, Registration.fromClass(Fake).pipe(singleton()).to('config'));
        return { scope: app.createScope(request), restore: () => faking[Symbol.dispose]() };
      },
    };
  },
};
