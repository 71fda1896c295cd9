import { createServer } from 'node:http';
import { containerMiddleware, drain, withTransaction } from '@ambit/express';
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { respondOnExpress } from './express-handlers.js';
import { type Served, statusOf, type SimulatedHost } from './host.js';
import { pause } from './work.js';
import { checkErrorHandler, ROLLS_BACK } from './moments.js';
import { ownScope } from './own-scope.js';
import { visitOf } from './visit.js';

export const expressHost = hostOf('Express 5', express);

/** The other major version in use, where `npm run check -- hosts` has installed it. */
export const express4Hosts: readonly SimulatedHost[] = process.env['OLDER_EXPRESS']
  ? // @ts-expect-error -- its types are those of the other major version
    [hostOf('Express 4', (await import('express-4')).default as typeof express)]
  : [];

/** One application for all runs: what differs from one to the next is found by the socket. */
function hostOf(name: string, create: typeof express): SimulatedHost {
  return { name, commits: true, scopeOnError: 'open', serve: async () => serve(create) };
}

function serve(create: typeof express): Served {
  // It begins to listen to routers when it is first mounted, as it is in an application.
  withTransaction();
  const app = create();
  const respond = respondOnExpress(create === express);
  // In 'test' the framework responds with the stack of an error, whose length is another one beside other runs and in another folder.
  app.disable('x-powered-by').disable('etag').set('env', 'production');
  app.use(takeTime, arrive, takeTime, create.json());
  app.post(['/orders', '/bare/orders'], begin, respond);
  app.post(['/plain', '/bare/plain'], respond);
  app.use(['/orders', '/plain'], respondToError);
  const server = createServer(app);
  return {
    server,
    close: async (application) => {
      await drain(server);
      await application.dispose();
    },
  };
}

/** Before our middleware the client may leave, and behind it as well. */
const takeTime: RequestHandler = async (req, _res, next) => {
  const visit = visitOf(req);
  if (!visit.run.calm && visit.run.chance.of(0.05)) await pause(visit);
  next();
};

const arrive: RequestHandler = (req, res, next) => {
  const visit = visitOf(req);
  const onDisposeError = (): void => void (visit.disposeErrors += 1);
  const begin = (error?: unknown): void => {
    if (error) return next(error);
    try {
      visit.begins(req.container);
    } catch (refusal) {
      return next(refusal);
    }
    next();
  };
  if (visit.bringsScope) {
    req.container = ownScope(visit, req, res, onDisposeError);
    begin();
  } else {
    const { application, maxRequestsPerConnection } = visit.run;
    containerMiddleware(application, { onDisposeError, maxRequestsPerConnection })(req, res, begin);
  }
};

const begin: RequestHandler = (req, res, next) => {
  const visit = visitOf(req);
  const middleware = withTransaction({
    ...visit.terms(),
    rollbackOn: (status) => status === ROLLS_BACK,
    onSecondResponse: () => void (visit.secondResponsesReported += 1),
  });
  return middleware(req, res, next);
};

async function respondToError(error: unknown, req: Request, res: Response, next: NextFunction): Promise<void> {
  const visit = visitOf(req);
  visit.note(`error handler: ${String(error).split('\n')[0]}`);
  checkErrorHandler(visit);
  visit.isTooLate ||= Object(error).code === 'AMBIT_TX_TIMEOUT';
  const waits = !visit.run.calm && visit.run.chance.of(0.4);
  if (waits) await pause(visit);
  if (res.headersSent) return next(error);
  res
    .status(visit.respondsWithError(statusOf(error), waits))
    .json({ mark: visit.mark, error: Object(error).code ?? 'failed' });
}
