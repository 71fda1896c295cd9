import { createServer, type IncomingMessage } from 'node:http';
import { containerMiddleware, requireTransactionScope, withTransaction } from '@ambit/hono';
import { getRequestListener } from '@hono/node-server';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { respondWithResponse } from './fetch.js';
import { bodyOf, drained, type Served, type SimulatedHost, statusOf } from './host.js';
import { ROLLS_BACK } from './moments.js';
import { type Visit, visitOf } from './visit.js';
import { pause, takeTime } from './work.js';

/** Hono on Node, where the socket tells about the client. */
export const honoHost: SimulatedHost = {
  name: 'Hono',
  commits: true,
  bringsScopes: false,
  scopeOnError: 'either',
  hasTimers: true,
  serve: async () => serve(),
};

function serve(): Served {
  const app = new Hono();
  app.use(arrive);
  for (const path of ['/orders', '/bare/orders']) app.post(path, begin, respond);
  for (const path of ['/plain', '/bare/plain']) app.post(path, respond);
  app.onError(respondToError);
  const listener = getRequestListener(app.fetch);
  return drained(createServer((req, res) => void listener(req, res)));
}

const arrive: MiddlewareHandler = async (c, next) => {
  const visit = visitIn(c);
  await takeTime(visit);
  const onDisposeError = (): void => void (visit.disposeErrors += 1);
  const { application, maxRequestsPerConnection } = visit.run;
  return containerMiddleware(application, { onDisposeError, maxRequestsPerConnection })(c, async () => {
    visit.begins(c.get('container'));
    await takeTime(visit);
    await c.req.text();
    await next();
  });
};

const begin: MiddlewareHandler = (c, next) =>
  withTransaction({ ...visitIn(c).terms(), rollbackOn: (status) => status === ROLLS_BACK })(c, next);

function respond(c: Context): Promise<Response> {
  const visit = visitIn(c);
  const scope = c.get('container');
  return respondWithResponse(visit, scope, visit.inTransaction ? requireTransactionScope(c) : scope);
}

async function respondToError(error: Error, c: Context): Promise<Response> {
  const visit = visitIn(c);
  visit.note(`error handler: ${String(error).split('\n')[0]}`);
  // Hono calls it before any middleware learns of the error, so what a handler failed with is rolled back afterwards.
  const waits = !visit.run.calm && visit.run.chance.of(0.4);
  if (waits) await pause(visit);
  const status = visit.respondsWithError(statusOf(error), waits);
  return c.json(bodyOf(visit, error), status as 500);
}

function visitIn({ env }: Context): Visit {
  return visitOf((env as { incoming: IncomingMessage }).incoming);
}
