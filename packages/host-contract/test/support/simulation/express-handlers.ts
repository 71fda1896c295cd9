import { Readable, pipeline } from 'node:stream';
import { withDeps, withTransaction } from '@ambit/express';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { ROLLS_BACK } from './moments.js';
import { type Visit, visitOf } from './visit.js';
import { breaking, ignore, pause, untilDisconnected, wait, work } from './work.js';

interface Scene {
  readonly visit: Visit;
  readonly req: Request;
  readonly res: Response;
  readonly next: NextFunction;
}

type Deeds = Readonly<Record<string, (scene: Scene) => unknown>>;

/** Everything a handler may do when its work is done; those that nobody should are among them. */
const PLAIN_DEEDS: Deeds = {
  respond: ({ visit, res }) => res.status(visit.respondsWith(201)).json({ mark: visit.mark }),
  refuse: ({ visit, res }) => res.status(visit.respondsWith(409)).json({ mark: visit.mark }),
  'response what rolls back': ({ visit, res }) => res.status(visit.respondsWith(ROLLS_BACK)).json({ mark: visit.mark }),
  text: ({ visit, res }) => res.status(visit.respondsWith(200)).send(visit.mark),
  'nothing but a status': ({ visit, res }) => res.sendStatus(visit.respondsWith(204)),
  redirect: ({ visit, res }) => res.redirect(visit.respondsWith(303), `/${visit.mark}`),
  end: ({ visit, res }) => {
    res.statusCode = visit.respondsWith(200);
    res.end(visit.mark);
  },
  'write the head first': async ({ visit, res }) => {
    res.writeHead(201, { 'content-type': 'text/plain' });
    await pause(visit);
    visit.respondsWith(201);
    res.end(visit.mark);
  },
  'flush the head first': async ({ visit, res }) => {
    visit.breaksOff = !visit.run.calm;
    res.status(visit.respondsWith(200)).flushHeaders();
    await pause(visit);
    res.end(visit.mark);
  },
  'write twice': async ({ visit, res }) => {
    visit.breaksOff = !visit.run.calm;
    res.status(visit.respondsWith(200));
    if (!res.write(`${visit.mark} `)) await new Promise((resolve) => void res.once('drain', resolve));
    await pause(visit);
    res.write(visit.mark);
    res.end();
  },
  stream: ({ visit, res }) => {
    visit.breaksOff = !visit.run.calm;
    res.status(visit.respondsWith(200));
    pipeline(Readable.from([`${visit.mark} `, visit.mark]), res, ignore);
  },
  'stream that breaks': ({ visit, res }) => {
    visit.breaksOff = true;
    res.status(visit.respondsWith(200));
    pipeline(Readable.from(breaking(visit)), res, ignore);
  },
  'response twice': async ({ visit, res }) => {
    visit.breaksOff = !visit.inTransaction || !visit.run.calm;
    res.status(visit.respondsWith(201)).json({ mark: visit.mark });
    await pause(visit);
    res.status(visit.respondsWith(500)).json({ mark: visit.mark });
  },
  'response, then throw': async ({ visit, res }) => {
    res.status(visit.respondsWith(201)).json({ mark: visit.mark });
    visit.breaksOff = true;
    await pause(visit);
    throw new Error('failed after the response');
  },
  'throw after the head': async ({ visit, res }) => {
    visit.breaksOff = !visit.inTransaction;
    countIfLate(visit);
    res.writeHead(201);
    await pause(visit);
    throw visit.fails();
  },
  throw: ({ visit }) => {
    throw visit.fails();
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
  'response what cannot be serialised': ({ res }) => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    res.status(201).json(circular);
  },
  'response with a status there is not': ({ visit, res }) => {
    countIfLate(visit);
    res.statusCode = 1000;
    res.end();
  },
  'wait forever': ({ visit }) => wait(visit),
  'wait until the client disconnects': async ({ visit, req, res }) => {
    await untilDisconnected(visit, req.container);
    res.status(visit.respondsWith(200)).json({ mark: visit.mark });
  },
  'destroy the response': ({ visit, res }) => {
    visit.breaksOff = true;
    res.destroy();
  },
};

/** Where its error handler has responded at the time limit, what would be refused of a first response is a second one. */
function countIfLate(visit: Visit): void {
  if (visit.errorStatus !== undefined) visit.responses += 1;
}

/** What only a handler with a transaction can do. */
const ORDER_DEEDS: Deeds = {
  ...PLAIN_DEEDS,
  // Without a gate, Node lets an error of this out where nobody listens.
  'end twice': async ({ visit, res }) => {
    visit.breaksOff = !visit.run.calm;
    res.statusCode = visit.respondsWith(200);
    res.end(visit.mark);
    await pause(visit);
    visit.respondsWith(200);
    res.end(visit.mark);
  },
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
  'response, then ask for more': async ({ visit, res }) => {
    res.status(visit.respondsWith(201)).json({ mark: visit.mark });
    await visit.handles[0]?.query('after the response').catch(ignore);
  },
  'begin another transaction': ({ visit, req, res, next }) => {
    visit.fails();
    return withTransaction()(req, res, next);
  },
};

/** The handler of every route. */
export const respondOnExpress: RequestHandler = (req, res, next) => {
  const visit = visitOf(req);
  const { chance } = visit.run;
  if (chance.of(0.05)) throw visit.fails();
  const meansTo = (): Promise<void> => act({ visit, req, res, next });
  return chance.of(0.3) ? withDeps({}, meansTo)(req, res, next) : meansTo();
};

async function act(scene: Scene): Promise<void> {
  const { visit, req, res } = scene;
  const { chance } = visit.run;
  const deeds = visit.inTransaction ? ORDER_DEEDS : PLAIN_DEEDS;
  const name = chance.of(0.35) ? 'respond' : chance.pick(Object.keys(deeds));
  visit.note(`means to ${name}`);
  try {
    if (!visit.inTransaction) await pause(visit);
    else if (chance.of(0.9)) await work(visit, req.transactionScope);
    else await work(visit, req.transactionScope).catch(() => visit.note('swallows a failure'));
    if (chance.of(0.2)) res.location(`/${visit.mark}`);
    await deeds[name]?.(scene);
  } catch (error) {
    visit.fails();
    throw error;
  }
}
