import { Container, MetadataInjector, Registration, hasTag, scope, singleton } from '@ambit/container';
import { asClass, createContainer, InjectionMode } from 'awilix';
import { Context, Orders, Products } from './service.mjs';

export function ambitContainer(pool) {
  const perRequest = [singleton(), scope(hasTag('request'))];
  return new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
    Registration.fromValue(pool).to('IDatabasePool'),
    Registration.fromClass(Context, [])
      .pipe(...perRequest)
      .to('IContext'),
    Registration.fromClass(Products, ['IContext'])
      .pipe(...perRequest)
      .to('IProducts'),
    Registration.fromClass(Orders, ['IConnection'])
      .pipe(singleton(), scope(hasTag('transaction')))
      .to('IOrders'),
  );
}

export function awilixContainer() {
  return createContainer({ injectionMode: InjectionMode.CLASSIC }).register({
    context: asClass(Context)
      .scoped()
      .disposer((context) => context.dispose()),
    products: asClass(Products).scoped(),
  });
}
