// With `strictKeys` a key that `ServiceMap` does not list is a compile error, wherever a host takes one.
import type { IContainer } from '@ambit/container';
import { requireTransactionScope, resolve, withDeps } from '@ambit/express';
import { createHandler as createFetchHandler } from '@ambit/fetch';
import { containerMiddleware } from '@ambit/hono';
import { createHandler } from '@ambit/http';
import '@ambit/fastify';
import express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';

interface Users {
  all(): string[];
}
class Clock {
  readonly now: number = 0;
}
const HIDDEN: unique symbol = Symbol('hidden');

declare module '@ambit/container' {
  interface ServiceMap {
    IUsers: Users;
  }
  interface Settings {
    strictKeys: true;
  }
}
declare const container: IContainer;

// Express
const app = express();
app.get('/', (req, res) => {
  res.json([resolve(req, 'IUsers').all(), resolve(req, Clock).now, resolve(req, 'IRequestSignal').aborted]);
  res.json([resolve<Users>(req, 'IUsers').all(), resolve<Date>(req, HIDDEN).getTime()]);
  // error: 'IUser' is not a key of ServiceMap
  resolve(req, 'IUser');
  // error: "IUser"' is not assignable to
  resolve<Users>(req, 'IUser');
  // error: is not assignable to
  resolve(req, 'IUsers' as string);
  // error: 'IUser' is not a key of ServiceMap
  req.container.resolve('IUser');
  // error: 'IUser' is not a key of ServiceMap
  requireTransactionScope(req).resolve('IUser');
});
app.get(
  '/services',
  withDeps({ users: 'IUsers', clock: Clock, hidden: HIDDEN }, (_req, res, { users, clock, hidden }) =>
    res.json([users.all(), clock.now, hidden]),
  ),
);
app.get(
  '/misspelt',
  withDeps(
    {
      users: 'IUsers',
      // error: 'IUser' is not a key of ServiceMap
      user: 'IUser',
    },
    (_req, res, { users }) => res.json(users.all()),
  ),
);

// Fastify
Fastify().get('/', (request) => {
  request.container.resolve('IUsers').all();
  // error: 'IUser' is not a key of ServiceMap
  request.container.resolve('IUser');
});

// fetch, Hono and node:http
createFetchHandler(container, (_request, scope) => {
  // error: 'IUser' is not a key of ServiceMap
  scope.resolve('IUser');
  return new Response(scope.resolve('IUsers').all()[0]);
});
const hono = new Hono().use(containerMiddleware(container));
hono.get('/', (c) => {
  // error: 'IUser' is not a key of ServiceMap
  c.get('container').resolve('IUser');
  return c.json(c.var.container.resolve('IUsers').all());
});
createHandler(container, (_req, res, scope) => {
  // error: 'IUser' is not a key of ServiceMap
  scope.resolve('IUser');
  res.end(scope.resolve('IUsers').all()[0]);
});
