import { createServer } from 'node:http';
import { containerMiddleware, withDeps, withTransaction } from '@ambit/express';
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { act, type Deeds, NODE_DEEDS, NODE_ORDER_DEEDS, type NodeScene } from './deeds.js';
import { type Visit, visitOf } from './visit.js';
import { pause } from './work.js';
import { bodyOf, drained, hearError, ownScope, type Served, type SimulatedHost, statusOf } from './host.js';
import { ROLLS_BACK } from './moments.js';

interface Scene extends NodeScene {
  readonly req: Request;
  readonly res: Response;
  readonly next: NextFunction;
}

/** What Express adds to the response of Node. */
const OF_EXPRESS: Deeds<Scene> = {
  text: ({ visit, res }) => res.status(visit.respondsWith(200)).send(visit.mark),
  'respond twice': async ({ visit, json }) => {
    visit.breaksOff = !visit.inTransaction || !visit.run.calm;
    json(201);
    await pause(visit);
    json(500);
  },
  'hand over an error': ({ visit, next }) => next(visit.fails()),
  'fail in the hands of Express': ({ visit, req }) => req.next?.(visit.fails()),
  'hand over an error, then respond': async ({ visit, res, next, json }) => {
    next(visit.fails());
    // A response of the framework itself does not expect another response before it, and would crash the process.
    if (visit.isBare) return;
    // Nobody can tell its response from that of the error handler it has called.
    visit.lies = true;
    visit.breaksOff = true;
    await pause(visit);
    if (!res.headersSent) json(201);
  },
};

const PLAIN_DEEDS: Deeds<Scene> = { ...NODE_DEEDS, ...OF_EXPRESS };
const ORDER_DEEDS: Deeds<Scene> = { ...NODE_ORDER_DEEDS, ...OF_EXPRESS };

/** The handler of every route. Express 4 sees a promise that rejects only where `withDeps()` returned it. */
function respondOnExpress(seesRejections: boolean): RequestHandler {
  return (req, res, next) => {
    const visit = visitOf(req);
    const { chance } = visit.run;
    if (chance.of(0.05)) throw visit.fails();
    const meansTo = (): Promise<unknown> => act(sceneOf(visit, req, res, next), PLAIN_DEEDS, ORDER_DEEDS);
    return chance.of(0.3) || !seesRejections ? withDeps({}, meansTo)(req, res, next) : meansTo();
  };
}

function sceneOf(visit: Visit, req: Request, res: Response, next: NextFunction): Scene {
  if (visit.run.chance.of(0.2)) res.location(`/${visit.mark}`);
  return {
    visit,
    req,
    res,
    next,
    scope: req.container,
    orderScope: req.transactionScope,
    json: (status, body) =>
      body === undefined ? res.status(visit.respondsWith(status)).json({ mark: visit.mark }) : res.json(body),
    empty: (status) => res.sendStatus(visit.respondsWith(status)),
    redirect: (to) => res.redirect(visit.respondsWith(303), to),
    begin: () => withTransaction()(req, res, next),
  };
}

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
  return drained(createServer(app));
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
  const waits = hearError(visit, error);
  if (waits) await pause(visit);
  if (res.headersSent) return next(error);
  res.status(visit.respondsWithError(statusOf(error), waits)).json(bodyOf(visit, error));
}
