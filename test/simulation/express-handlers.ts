import { withDeps, withTransaction } from '@ambit/express';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { chooseDeed, type Deeds } from './deeds.js';
import { NODE_DEEDS, NODE_ORDER_DEEDS } from './node-deeds.js';
import { type Visit, visitOf } from './visit.js';
import { ignore, pause, untilDisconnected, work } from './work.js';

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
export function respondOnExpress(seesRejections: boolean): RequestHandler {
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
