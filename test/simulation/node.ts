import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import { createHandler, drain, type Handler, type ScopedRequest, withTransaction } from '@ambit/http';
import { chooseDeed, type Deeds, NODE_DEEDS, NODE_ORDER_DEEDS, type NodeScene } from './deeds.js';
import { type Visit, visitOf } from './visit.js';
import { ignore, pause, takeTime, untilDisconnected, work } from './work.js';
import { ownScope, type Served, type SimulatedHost, statusOf } from './host.js';
import { checkErrorHandler, ROLLS_BACK } from './moments.js';

interface Scene extends NodeScene {
  readonly req: ScopedRequest;
}

/** What an application adds to Node by itself. */
const OF_THE_APPLICATION: Deeds<Scene> = {
  respond: ({ visit, res }) => sendJson(res, visit.respondsWith(201), { mark: visit.mark }),
  refuse: ({ visit, res }) => sendJson(res, visit.respondsWith(409), { mark: visit.mark }),
  'respond with nothing but a status': ({ visit, res }) => res.writeHead(visit.respondsWith(204)).end(),
  redirect: ({ visit, res }) => res.writeHead(visit.respondsWith(303), { location: `/${visit.mark}` }).end(),
  'respond twice': async ({ visit, res }) => {
    visit.breaksOff = !visit.inTransaction || !visit.run.calm;
    sendJson(res, visit.respondsWith(201), { mark: visit.mark });
    await pause(visit);
    // Node itself refuses it once the first has left.
    sendJson(res, res.headersSent ? 500 : visit.respondsWith(500), { mark: visit.mark });
  },
  'respond, then throw': async ({ visit, res }) => {
    sendJson(res, visit.respondsWith(201), { mark: visit.mark });
    visit.breaksOff = true;
    await pause(visit);
    throw new Error('failed after the response');
  },
  'respond with what cannot be serialised': ({ res }) => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    sendJson(res, 201, circular);
  },
  'wait until the client disconnects': async ({ visit, req, res }) => {
    await untilDisconnected(visit, req.container);
    sendJson(res, visit.respondsWith(200), { mark: visit.mark });
  },
};

/** What only a handler with a transaction can do. */
const OF_ORDERS: Deeds<Scene> = {
  'commit by itself': async ({ visit, res }) => {
    visit.asked = 'commit';
    visit.endsItself = true;
    await visit.handles[0]?.commit();
    visit.committed();
    sendJson(res, visit.respondsWith(201), { mark: visit.mark });
  },
  'roll back and refuse': async ({ visit, res }) => {
    visit.asked = 'rollback';
    await visit.handles[0]?.rollback();
    sendJson(res, visit.respondsWith(409), { mark: visit.mark });
  },
  'roll back and say it went well': async ({ visit, res }) => {
    visit.asked = 'rollback';
    await visit.handles[0]?.rollback();
    sendJson(res, visit.respondsWith(201), { mark: visit.mark });
  },
  'respond, then ask for more': async ({ visit, res }) => {
    sendJson(res, visit.respondsWith(201), { mark: visit.mark });
    await visit.handles[0]?.query('after the response').catch(ignore);
  },
  'begin another transaction': ({ visit, req, res }) => {
    visit.fails();
    return withTransaction(ignore)(req, res, req.container);
  },
};

const PLAIN_DEEDS: Deeds<Scene> = { ...NODE_DEEDS, ...OF_THE_APPLICATION };
const ORDER_DEEDS: Deeds<Scene> = { ...NODE_ORDER_DEEDS, ...OF_THE_APPLICATION, ...OF_ORDERS };

/** The handler of every request whose body has been read. */
const respondOnNode: Handler = (req, res, scope) => {
  const visit = visitOf(req);
  if (visit.run.chance.of(0.05)) throw visit.fails();
  return act({ visit, req, res }, scope);
};

async function act(scene: Scene, scope: IContainer): Promise<void> {
  const { visit, res } = scene;
  const { chance } = visit.run;
  const deed = chooseDeed(visit, visit.inTransaction ? ORDER_DEEDS : PLAIN_DEEDS, 'respond');
  try {
    await prepare(visit, scope);
    if (chance.of(0.2)) res.setHeader('location', `/${visit.mark}`);
    await deed(scene);
  } catch (error) {
    visit.fails();
    throw error;
  }
}

async function prepare(visit: Visit, scope: IContainer): Promise<void> {
  if (!visit.inTransaction) return pause(visit);
  const working = work(visit, scope);
  if (visit.run.chance.of(0.9)) await working;
  else await working.catch(() => visit.note('swallows a failure'));
}

function sendJson(res: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  res.statusCode = status;
  res.setHeader('content-type', 'application/json');
  res.setHeader('content-length', Buffer.byteLength(text));
  res.end(text);
}

/** Plain `node:http`, with as much of a framework as an application writes by itself. */
export const nodeHost: SimulatedHost = {
  name: 'node:http',
  commits: true,
  scopeOnError: 'open',
  serve: async () => serve(),
};

function serve(): Served {
  const server = createServer(listen);
  return {
    server,
    close: async (application) => {
      await drain(server);
      await application.dispose();
    },
  };
}

/** Before our listener the client may leave, and behind it as well. */
const listen: RequestListener = (req, res) => {
  void takeTime(visitOf(req)).then(() => respondTo(req, res));
};

function respondTo(req: IncomingMessage, res: ServerResponse): Promise<void> | void {
  const visit = visitOf(req);
  const onDisposeError = (): void => void (visit.disposeErrors += 1);
  if (visit.bringsScope) return handleWithOwnScope(req as ScopedRequest, res, onDisposeError);
  const onError = visit.isBare ? {} : { onError: respondToError };
  const { application, maxRequestsPerConnection } = visit.run;
  createHandler(application, handle, { onDisposeError, maxRequestsPerConnection, ...onError })(req, res);
}

async function handleWithOwnScope(req: ScopedRequest, res: ServerResponse, onDisposeError: () => void): Promise<void> {
  try {
    req.container = ownScope(visitOf(req), req, res, onDisposeError);
    await handle(req, res, req.container);
  } catch (error) {
    await respondToError(error, req, res);
  }
}

const handle: Handler = async (req, res, scope) => {
  const visit = visitOf(req);
  visit.begins(scope);
  await takeTime(visit);
  await readBody(req);
  if (!visit.inTransaction) return respondOnNode(req, res, scope);
  const transactional = withTransaction(respondOnNode, {
    ...visit.terms(),
    rollbackOn: (status) => status === ROLLS_BACK,
    onSecondResponse: () => void (visit.secondResponsesReported += 1),
  });
  return transactional(req, res, scope);
};

async function readBody(req: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of req) text += String(chunk);
  return text && JSON.parse(text);
}

async function respondToError(error: unknown, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const visit = visitOf(req);
  visit.note(`error handler: ${String(error).split('\n')[0]}`);
  checkErrorHandler(visit);
  visit.isTooLate ||= Object(error).code === 'AMBIT_TX_TIMEOUT';
  const waits = !visit.run.calm && visit.run.chance.of(0.4);
  if (waits) await pause(visit);
  // A response that has begun cannot become an error any more.
  if (res.headersSent) return void (res.writableEnded || res.destroy());
  // A success in place of a handler's error is replaced at once only where the handler failed, otherwise after a second.
  const status = visit.respondsWithError(statusOf(error), waits || visit.first !== 'failed');
  sendJson(res, status, { mark: visit.mark, error: Object(error).code ?? 'failed' });
}
