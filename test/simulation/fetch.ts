import { createServer, type IncomingMessage } from 'node:http';
import { createHandler, errorResponse, withTransaction } from '@ambit/fetch';
import { getRequestListener } from '@hono/node-server';
import { respondWithResponse } from './fetch-handlers.js';
import { type Served, statusOf, type SimulatedHost } from './host.js';
import { checkErrorHandler, ROLLS_BACK } from './moments.js';
import { type Visit, visitOf } from './visit.js';
import { pause, takeTime } from './work.js';

/** A function of a `Request`, on the server that Hono has for Node. */
export const fetchHost: SimulatedHost = {
  name: 'fetch',
  commits: true,
  scopeOnError: 'either',
  bringsScopes: false,
  // Of several requests on a connection, only the first learns that the client has left.
  pipelines: false,
  // drain() knows no sockets, so what becomes of idle ones is the business of the server.
  closes: false,
  hasTimers: true,
  serve: async () => serve(),
};

function serve(): Served {
  const listener = getRequestListener((request, { incoming }) =>
    respond(request, visitOf(incoming as IncomingMessage)),
  );
  return { server: createServer((req, res) => void listener(req, res)), close: async () => undefined };
}

async function respond(request: Request, visit: Visit): Promise<Response> {
  await takeTime(visit);
  const handler = createHandler(visit.run.application, (_request, scope) => handle(request, visit, scope), {
    onDisposeError: () => void (visit.disposeErrors += 1),
    onError: visit.isBare ? errorResponse : (error) => respondToError(error, visit),
  });
  return handler(request);
}

async function handle(request: Request, visit: Visit, scope: Parameters<Visit['begins']>[0]): Promise<Response> {
  visit.begins(scope);
  await takeTime(visit);
  await request.text();
  if (!visit.inTransaction) return respondWithResponse(visit, scope, scope);
  const transactional = withTransaction(
    (_request, transactionScope) => respondWithResponse(visit, scope, transactionScope),
    { ...visit.terms(), rollbackOn: (status) => status === ROLLS_BACK },
  );
  return transactional(request, scope, undefined);
}

async function respondToError(error: unknown, visit: Visit): Promise<Response> {
  visit.note(`error handler: ${String(error).split('\n')[0]}`);
  checkErrorHandler(visit);
  const waits = !visit.run.calm && visit.run.chance.of(0.4);
  if (waits) await pause(visit);
  const status = visit.respondsWithError(statusOf(error), waits);
  return Response.json({ mark: visit.mark, error: Object(error).code ?? 'failed' }, { status });
}
