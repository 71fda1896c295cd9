import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createHandler, type Handler, type ScopedRequest, withTransaction } from '@ambit/http';
import { act, type Deeds, NODE_DEEDS, NODE_ORDER_DEEDS, type NodeScene } from './deeds.js';
import { visitOf } from './visit.js';
import { ignore, pause, takeTime } from './work.js';
import { bodyOf, drained, hearError, ownScope, type SimulatedHost, statusOf } from './host.js';
import { ROLLS_BACK } from './moments.js';

/** What an application adds to Node by itself. */
const OF_THE_APPLICATION: Deeds<NodeScene> = {
  'respond twice': async ({ visit, res, json }) => {
    visit.breaksOff = !visit.inTransaction || !visit.run.calm;
    json(201);
    await pause(visit);
    // Node itself refuses it once the first has left.
    if (res.headersSent) sendJson(res, 500, { mark: visit.mark });
    else json(500);
  },
};

const PLAIN_DEEDS: Deeds<NodeScene> = { ...NODE_DEEDS, ...OF_THE_APPLICATION };
const ORDER_DEEDS: Deeds<NodeScene> = { ...NODE_ORDER_DEEDS, ...OF_THE_APPLICATION };

/** The handler of every request whose body has been read. */
const respondOnNode: Handler = (req, res, scope) => {
  const visit = visitOf(req);
  if (visit.run.chance.of(0.05)) throw visit.fails();
  if (visit.run.chance.of(0.2)) res.setHeader('location', `/${visit.mark}`);
  const scene: NodeScene = {
    visit,
    res,
    scope: req.container,
    orderScope: scope,
    json: (status, body) =>
      body === undefined
        ? sendJson(res, visit.respondsWith(status), { mark: visit.mark })
        : sendJson(res, status, body),
    empty: (status) => res.writeHead(visit.respondsWith(status)).end(),
    redirect: (to) => res.writeHead(visit.respondsWith(303), { location: to }).end(),
    begin: () => withTransaction(ignore)(req, res, req.container),
  };
  return act(scene, PLAIN_DEEDS, ORDER_DEEDS);
};

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
  serve: async () => drained(createServer(listen)),
};

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
  const waits = hearError(visit, error);
  if (waits) await pause(visit);
  // A response that has begun cannot become an error any more.
  if (res.headersSent) return void (res.writableEnded || res.destroy());
  // A success in place of a handler's error is replaced at once only where the handler failed, otherwise after a second.
  const status = visit.respondsWithError(statusOf(error), waits || visit.first !== 'failed');
  sendJson(res, status, bodyOf(visit, error));
}
