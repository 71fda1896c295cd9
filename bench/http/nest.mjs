import 'reflect-metadata';
import { Controller, Get, Inject, Injectable, Module, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { bodyOf, describe } from './graph.mjs';

/** The same graph for NestJS: decorators are functions, so no compiler is needed. */
export async function startNest(adapter) {
  const providers = [];
  describe((lifetime, key, type, ...deps) => {
    deps.forEach((dep, index) => Inject(dep)(type, undefined, index));
    Injectable()(type);
    providers.push({ provide: key, useClass: type, scope: lifetime === 'request' ? Scope.REQUEST : Scope.DEFAULT });
  });

  class Handler {
    constructor(users, audit, context) {
      this.services = [users, audit, context];
    }
    get() {
      return bodyOf(...this.services);
    }
  }
  ['users', 'audit', 'context'].forEach((key, index) => Inject(key)(Handler, undefined, index));
  Get()(Handler.prototype, 'get', Object.getOwnPropertyDescriptor(Handler.prototype, 'get'));
  Controller()(Handler);

  class AppModule {}
  Module({ controllers: [Handler], providers })(AppModule);

  const app = await NestFactory.create(AppModule, adapter, { logger: false });
  await app.listen(0);
  return app.getUrl();
}
