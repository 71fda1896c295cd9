import 'reflect-metadata';
import { openScopes } from '@ambit/container/tools';
import { AmbitModule, InjectScoped, Transactional } from '@ambit/nest';
import { Body, Controller, Get, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ambitContainer } from '../containers.mjs';

/** Decorators are functions, so no compiler is needed. */
export async function startNest(adapter, pool) {
  class Shop {
    list(_context, products) {
      return products.list();
    }
    create(body, orders) {
      return orders.create(body);
    }
  }
  const decorate = (name, ...decorators) => {
    const method = Object.getOwnPropertyDescriptor(Shop.prototype, name);
    for (const decorator of decorators) decorator(Shop.prototype, name, method);
    Object.defineProperty(Shop.prototype, name, method);
  };
  InjectScoped('IContext')(Shop.prototype, 'list', 0);
  InjectScoped('IProducts')(Shop.prototype, 'list', 1);
  decorate('list', Get('products'));
  Body()(Shop.prototype, 'create', 0);
  InjectScoped('IOrders')(Shop.prototype, 'create', 1);
  decorate('create', Post('orders'), Transactional());
  Controller()(Shop);

  const container = ambitContainer(pool);
  class AppModule {}
  const ambit = AmbitModule.forRoot({ container, register: (scope) => scope.resolve('IContext') });
  Module({ imports: [ambit], controllers: [Shop] })(AppModule);

  const app = await NestFactory.create(AppModule, adapter, { logger: false });
  await app.listen(0, '127.0.0.1');
  return { port: app.getHttpServer().address().port, open: () => openScopes(container).length };
}
