import 'reflect-metadata';
import { Controller, Get, Inject, Injectable, Module, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { bodyOf, describe } from './graph.mjs';

/** The same graph as providers of NestJS. Decorators are functions, so no compiler is needed. */
function providers() {
  const all = [];
  describe((lifetime, key, type, ...deps) => {
    deps.forEach((dep, index) => Inject(dep)(type, undefined, index));
    Injectable()(type);
    all.push({ provide: key, useClass: type, scope: lifetime === 'request' ? Scope.REQUEST : Scope.DEFAULT });
  });
  return all;
}

/** A controller whose constructor gets the three services by NestJS. */
function controller() {
  class Handler {
    constructor(users, audit, context) {
      this.services = [users, audit, context];
    }
    get() {
      return bodyOf(...this.services);
    }
  }
  ['users', 'audit', 'context'].forEach((key, index) => Inject(key)(Handler, undefined, index));
  const method = Object.getOwnPropertyDescriptor(Handler.prototype, 'get');
  Get()(Handler.prototype, 'get', method);
  Object.defineProperty(Handler.prototype, 'get', method);
  Controller()(Handler);
  return Handler;
}

export async function startNest(adapter) {
  class AppModule {}
  Module({ controllers: [controller()], providers: providers() })(AppModule);
  const app = await NestFactory.create(AppModule, adapter, { logger: false, bodyParser: false });
  await app.listen(0);
  return app.getUrl();
}
