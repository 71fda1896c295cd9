import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createHandler, drain, type Handler, type ScopedRequest, withTransaction } from '@ambit/http';
import { type Served, statusOf, type SimulatedHost } from './host.js';
import { checkErrorHandler, ROLLS_BACK } from './moments.js';
import { respondOnNode, sendJson } from './node-handlers.js';
import { ownScope } from './own-scope.js';
import { visitOf } from './visit.js';
import { pause, takeTime } from './work.js';

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
  // What has begun cannot become an error any more.
  if (res.headersSent) return void (res.writableEnded || res.destroy());
  // Where the handler did not fail, a success in place of its error is replaced only after a second.
  const status = visit.respondsWithError(statusOf(error), waits || visit.first !== 'failed');
  sendJson(res, status, { mark: visit.mark, error: Object(error).code ?? 'failed' });
}
