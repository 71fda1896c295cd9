import { createServer } from 'node:http';
import { containerMiddleware, drain, withTransaction } from '@ambit/express';
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { respondOnExpress } from './express-handlers.js';
import { type Served, statusOf, type SimulatedHost } from './host.js';
import { pause } from './work.js';
import { checkErrorHandler, ROLLS_BACK } from './moments.js';
import { visitOf } from './visit.js';

/** One application for all runs: what differs from one to the next is found by the socket. */
export const expressHost: SimulatedHost = {
  name: 'Express',
  commits: true,
  endsScopesOnError: false,
  serve: async () => serve(),
};

function serve(): Served {
  // It begins to listen to routers when it is first mounted, as it is in an application.
  withTransaction();
  const app = express();
  // What the framework responds to by itself, it prints as well, except in tests.
  app.disable('x-powered-by').disable('etag').set('env', 'test');
  app.use(takeTime, arrive, takeTime, express.json());
  app.post(['/orders', '/bare/orders'], begin, respondOnExpress);
  app.post(['/plain', '/bare/plain'], respondOnExpress);
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
  const open = visit.bringsScope
    ? ownScope(onDisposeError)
    : containerMiddleware(visit.run.application, { onDisposeError });
  open(req, res, (error?: unknown) => {
    if (error) return next(error);
    try {
      visit.begins(req.container);
    } catch (refusal) {
      return next(refusal);
    }
    next();
  });
};

/** An application may open its scopes by other means than our middleware. */
function ownScope(onDisposeError: () => void): RequestHandler {
  return (req, res, next) => {
    const scope = visitOf(req).run.application.createScope({ tags: ['request'] });
    req.container = scope;
    let isOver = false;
    const end = (): void => {
      if (!isOver) scope.dispose()?.catch(onDisposeError);
      isOver = true;
    };
    res.on('finish', end);
    req.socket.on('close', end);
    if (req.socket.closed) end();
    next();
  };
}

const begin: RequestHandler = (req, res, next) => {
  const visit = visitOf(req);
  const middleware = withTransaction({
    ...visit.terms(),
    rollbackOn: (status) => status === ROLLS_BACK,
    onSecondAnswer: () => void (visit.secondResponsesReported += 1),
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
