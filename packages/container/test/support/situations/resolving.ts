import { all, decorate, hasTag, inject, lazy, Registration, scope, singleton } from '../../../src/index.js';
import { asking, resolving as factoryFor } from '../asking.js';
import { openApplication, openRequest, openTransaction, perRequest } from '../scopes.js';

const single = singleton();
const context = asking().pipe(single, perRequest).to('IRequestContext');

class Users {
  constructor(
    @inject('IDatabasePool') readonly pool: unknown,
    readonly pageSize: number,
  ) {}
}

/** What `resolve` refuses, by code and by what happened. */
export const resolving = {
  AMBIT_NOT_REGISTERED: {
    'a key that nobody registered': () => openRequest(openApplication()).resolve('IClock'),
    'a key one edit away from a registered one': () =>
      openApplication(asking().to('IUserRepository')).resolve('IUserRepositry'),
    'a symbol': () => openApplication().resolve(Symbol('clock')),
    'a key that a class needs': () =>
      openApplication(asking('IRepo').to('IOrderService'), asking('ISession').to('IRepo')).resolve('IOrderService'),
    'a key that a class needs, behind a factory and an alias': () =>
      openApplication(
        asking('IAudit').to('IOrderService'),
        Registration.alias('IAuditLogger').to('IAudit'),
        factoryFor('ILogger').pipe(single).to('IAuditLogger'),
        asking('IClock').to('ILogger'),
      ).resolve('IOrderService'),
    'a key registered directly in another scope only': () => {
      const request = openRequest(openApplication(asking('ISession').to('IOrderRepository')));
      openTransaction(request).register('ISession', () => 'open');
      return request.resolve('IOrderRepository');
    },
    'a scope without tags': () => openRequest(openApplication()).createScope().resolve('IClock'),
  },
  AMBIT_OUT_OF_SCOPE: {
    'a key of requests, asked from the application': () => openApplication(context).resolve('IRequestContext'),
    'a key of requests, needed by what the application asks for': () =>
      openApplication(asking('IRequestContext').to('IHandler'), context).resolve('IHandler'),
    'a key of several kinds of scope': () =>
      openApplication(
        asking()
          .pipe(scope((tagged) => tagged.hasTag('request') || tagged.hasTag('job')))
          .to('IRequestContext'),
      ).resolve('IRequestContext'),
    'a predicate that asks for no tag': () =>
      openApplication(
        asking()
          .pipe(scope(() => false))
          .to('INever'),
      ).resolve('INever'),
  },
  AMBIT_CAPTIVE_DEPENDENCY: {
    'a singleton of the application needs a singleton of requests, asked from a request': () =>
      openRequest(openApplication(asking('IRequestContext').pipe(single).to('ICache'), context)).resolve('ICache'),
    'the same, asked from the application': () =>
      openApplication(asking('IRequestContext').pipe(single).to('ICache'), context).resolve('ICache'),
    'through a transient': () =>
      openRequest(
        openApplication(asking('IUser').pipe(single).to('ICache'), asking('IRequestContext').to('IUser'), context),
      ).resolve('ICache'),
    'through a factory': () =>
      openRequest(openApplication(factoryFor('IRequestContext').pipe(single).to('ICache'), context)).resolve('ICache'),
    'a singleton of requests needs what transactions get directly': () =>
      openTransaction(openRequest(openApplication(asking('ISession').pipe(single, perRequest).to('IRepo'))))
        .register('ISession', () => 'open')
        .resolve('IRepo'),
  },
  AMBIT_TOO_DEEP: {
    'a chain of 2,000 services': () =>
      openApplication(
        ...Array.from({ length: 2000 }, (_, i) => asking(...(i > 0 ? [`service ${i - 1}`] : [])).to(`service ${i}`)),
      ).resolve('service 1999'),
  },
  AMBIT_CYCLE: {
    'a class that depends on itself': () => openApplication(asking('ITree').to('ITree')).resolve('ITree'),
    'a class that depends on itself, asked by another': () =>
      openApplication(asking('ITree').to('ITree'), asking('ITree').to('IGarden')).resolve('IGarden'),
    'three classes': () =>
      openApplication(
        asking('IOrders').to('IUsers'),
        asking('IInvoices').pipe(single).to('IOrders'),
        asking(all('IUsers')).to('IInvoices'),
      ).resolve('IUsers'),
    'three factories': () =>
      openApplication(
        factoryFor('IOrders').to('IUsers'),
        factoryFor('IInvoices').to('IOrders'),
        factoryFor('IUsers').to('IInvoices'),
      ).resolve('IUsers'),
    'three singletons, one of them from a factory': () =>
      openApplication(
        asking('IOrders').pipe(single).to('IUsers'),
        factoryFor('IInvoices').pipe(single).to('IOrders'),
        asking('IUsers', lazy('IOrders')).pipe(single).to('IInvoices'),
        asking('IUsers').to('IHandler'),
      ).resolve('IHandler'),
    'aliases of each other': () =>
      openApplication(Registration.alias('IThat').to('IThis'), Registration.alias('IThis').to('IThat')).resolve(
        'IThis',
      ),
    'a decorator that resolves what it decorates': () =>
      openApplication(
        asking()
          .pipe(
            single,
            decorate((_, owner) => owner.resolve('ILogger')),
          )
          .to('ILogger'),
      ).resolve('ILogger'),
  },
  AMBIT_NO_KEY_FOR_PARAMETER: {
    'a parameter without @inject': () =>
      openApplication(
        asking().to('IDatabasePool'),
        Registration.fromClass(Users)
          .pipe(scope(hasTag('application')))
          .to('IUsers'),
        asking('IUsers').to('IHandler'),
      ).resolve('IHandler'),
    'a class that nobody registered': () => openApplication(asking().to('IDatabasePool')).resolve(Users),
  },
};
