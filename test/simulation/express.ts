import { createServer } from 'node:http';
import { containerMiddleware, drain, withDeps, withTransaction } from '@ambit/express';
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { chooseDeed, type Deeds, NODE_DEEDS, NODE_ORDER_DEEDS } from './deeds.js';
import { type Visit, visitOf } from './visit.js';
import { ignore, pause, untilDisconnected, work } from './work.js';
import { ownScope, type Served, type SimulatedHost, statusOf } from './host.js';
import { checkErrorHandler, ROLLS_BACK } from './moments.js';

interface Scene {
  readonly visit: Visit;
  readonly req: Request;
  readonly res: Response;
  readonly next: NextFunction;
}

/** What Express adds to the response of Node. */
const OF_EXPRESS: Deeds<Scene> = {
  respond: ({ visit, res }) => res.status(visit.respondsWith(201)).json({ mark: visit.mark }),
  refuse: ({ visit, res }) => res.status(visit.respondsWith(409)).json({ mark: visit.mark }),
  text: ({ visit, res }) => res.status(visit.respondsWith(200)).send(visit.mark),
  'nothing but a status': ({ visit, res }) => res.sendStatus(visit.respondsWith(204)),
  redirect: ({ visit, res }) => res.redirect(visit.respondsWith(303), `/${visit.mark}`),
  'respond twice': async ({ visit, res }) => {
    visit.breaksOff = !visit.inTransaction || !visit.run.calm;
    res.status(visit.respondsWith(201)).json({ mark: visit.mark });
    await pause(visit);
    res.status(visit.respondsWith(500)).json({ mark: visit.mark });
  },
  'respond, then throw': async ({ visit, res }) => {
    res.status(visit.respondsWith(201)).json({ mark: visit.mark });
    visit.breaksOff = true;
    await pause(visit);
    throw new Error('failed after the response');
  },
  'hand over an error': ({ visit, next }) => next(visit.fails()),
  'fail in the hands of Express': ({ visit, req }) => req.next?.(visit.fails()),
  'hand over an error, then respond': async ({ visit, res, next }) => {
    next(visit.fails());
    // A response of the framework itself does not expect another response before it, and would crash the process.
    if (visit.isBare) return;
    // Nobody can tell its response from that of the error handler it has called.
    visit.lies = true;
    visit.breaksOff = true;
    await pause(visit);
    if (!res.headersSent) res.status(visit.respondsWith(201)).json({ mark: visit.mark });
  },
  'respond with what cannot be serialised': ({ res }) => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    res.status(201).json(circular);
  },
  'wait until the client disconnects': async ({ visit, req, res }) => {
    await untilDisconnected(visit, req.container);
    res.status(visit.respondsWith(200)).json({ mark: visit.mark });
  },
};

/** What only a handler with a transaction can do. */
const OF_ORDERS: Deeds<Scene> = {
  'commit by itself': async ({ visit, res }) => {
    visit.asked = 'commit';
    visit.endsItself = true;
    await visit.handles[0]?.commit();
    visit.committed();
    res.status(visit.respondsWith(201)).json({ mark: visit.mark });
  },
  'roll back and refuse': async ({ visit, res }) => {
    visit.asked = 'rollback';
    await visit.handles[0]?.rollback();
    res.status(visit.respondsWith(409)).json({ mark: visit.mark });
  },
  'roll back and say it went well': async ({ visit, res }) => {
    visit.asked = 'rollback';
    await visit.handles[0]?.rollback();
    res.status(visit.respondsWith(201)).json({ mark: visit.mark });
  },
  'respond, then ask for more': async ({ visit, res }) => {
    res.status(visit.respondsWith(201)).json({ mark: visit.mark });
    await visit.handles[0]?.query('after the response').catch(ignore);
  },
  'begin another transaction': ({ visit, req, res, next }) => {
    visit.fails();
    return withTransaction()(req, res, next);
  },
};

const PLAIN_DEEDS: Deeds<Scene> = { ...NODE_DEEDS, ...OF_EXPRESS };
const ORDER_DEEDS: Deeds<Scene> = { ...NODE_ORDER_DEEDS, ...OF_EXPRESS, ...OF_ORDERS };

/** The handler of every route. Express 4 sees a promise that rejects only where `withDeps()` returned it. */
function respondOnExpress(seesRejections: boolean): RequestHandler {
  return (req, res, next) => {
    const visit = visitOf(req);
    const { chance } = visit.run;
    if (chance.of(0.05)) throw visit.fails();
    const meansTo = (): Promise<void> => act({ visit, req, res, next });
    return chance.of(0.3) || !seesRejections ? withDeps({}, meansTo)(req, res, next) : meansTo();
  };
}

async function act(scene: Scene): Promise<void> {
  const { visit, req, res } = scene;
  const { chance } = visit.run;
  const deed = chooseDeed(visit, visit.inTransaction ? ORDER_DEEDS : PLAIN_DEEDS, 'respond');
  try {
    if (!visit.inTransaction) await pause(visit);
    else if (chance.of(0.9)) await work(visit, req.transactionScope);
    else await work(visit, req.transactionScope).catch(() => visit.note('swallows a failure'));
    if (chance.of(0.2)) res.location(`/${visit.mark}`);
    await deed(scene);
  } catch (error) {
    visit.fails();
    throw error;
  }
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
