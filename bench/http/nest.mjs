import 'reflect-metadata';
import { Controller, Get, Inject, Injectable, Module, Post, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { bodyOf, describe } from './graph.mjs';

/** The same graph as providers of NestJS. Decorators are functions, so no compiler is needed. */
export function providersOf(scopeOf) {
  const providers = [];
  describe((lifetime, key, type, ...deps) => {
    deps.forEach((dep, index) => Inject(dep)(type, undefined, index));
    Injectable()(type);
    providers.push({ provide: key, useClass: type, scope: scopeOf(lifetime) });
  });
  return providers;
}

export const perRequest = (lifetime) => (lifetime === 'request' ? Scope.REQUEST : Scope.DEFAULT);
export const asSingletons = () => Scope.DEFAULT;

/** A controller whose constructor gets the three services by NestJS. */
export function injectedController() {
  class Handler {
    constructor(users, audit, context) {
      this.services = [users, audit, context];
    }
    get() {
      return bodyOf(...this.services);
    }
  }
  ['users', 'audit', 'context'].forEach((key, index) => Inject(key)(Handler, undefined, index));
  return route(Handler, Get());
}

/** A controller with one handler, `get`, which its decorators make a route. */
export function route(Handler, ...decorators) {
  const method = Object.getOwnPropertyDescriptor(Handler.prototype, 'get');
  for (const decorator of decorators) decorator(Handler.prototype, 'get', method);
  Object.defineProperty(Handler.prototype, 'get', method);
  Controller()(Handler);
  return Handler;
}

/** The route of a transaction: it responds with 200, as those of the other hosts. */
export const post = Post();

export async function startNest(adapter, metadata) {
  class AppModule {}
  Module(metadata)(AppModule);
  const app = await NestFactory.create(AppModule, adapter, { logger: false, bodyParser: false });
  await app.listen(0);
  return app.getUrl();
}
