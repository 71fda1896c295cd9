import { ReadableStream } from 'node:stream/web';
import { createServer, type IncomingMessage } from 'node:http';
import type { IContainer } from '@ambit/container';
import { createHandler, errorResponse, withTransaction } from '@ambit/fetch';
import { getRequestListener } from '@hono/node-server';
import { act, ANY_DEEDS, ANY_ORDER_DEEDS, type Deeds, type Scene } from './deeds.js';
import { ROLLS_BACK } from './moments.js';
import { type Visit, visitOf } from './visit.js';
import { pause, takeTime } from './work.js';
import { bodyOf, hearError, type Served, type SimulatedHost, statusOf } from './host.js';

/** The deeds of a handler that gives a `Response`. */
const PLAIN_DEEDS: Deeds<Scene> = {
  ...ANY_DEEDS,
  'respond with what rolls back': ({ json }) => json(ROLLS_BACK),
  text: ({ visit }) => new Response(visit.mark, { status: visit.respondsWith(200) }),
  stream: ({ visit }) => {
    visit.breaksOff = !visit.run.calm;
    return streamOf(
      visit,
      visit.parts().map((part) => Buffer.from(part)),
    );
  },
  'stream that takes its time': ({ visit }) => {
    visit.breaksOff = !visit.run.calm;
    return streamOf(visit, slow(visit));
  },
  'stream that breaks': ({ visit }) => {
    visit.breaksOff = true;
    return streamOf(visit, breaking(visit));
  },
};
const ORDER_DEEDS: Deeds<Scene> = { ...PLAIN_DEEDS, ...ANY_ORDER_DEEDS };

/** The handler of every request: `orderScope` is that of its transaction, where it has one. */
export function respondWithResponse(visit: Visit, scope: IContainer, orderScope: IContainer): Promise<Response> {
  const scene: Scene = {
    visit,
    scope,
    orderScope,
    json: (status, body) =>
      body === undefined
        ? Response.json({ mark: visit.mark }, { status: visit.respondsWith(status) })
        : Response.json(body),
    empty: (status) => new Response(null, { status: visit.respondsWith(status) }),
    redirect: (to) => new Response(null, { status: visit.respondsWith(303), headers: { location: to } }),
  };
  return act(scene, PLAIN_DEEDS, ORDER_DEEDS) as Promise<Response>;
}

/** Nothing of it is read before the server asks for it, which it does after COMMIT. */
function streamOf(visit: Visit, chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Response {
  return new Response(ReadableStream.from(chunks) as ConstructorParameters<typeof Response>[0], {
    status: visit.respondsWith(200),
  });
}

async function* slow(visit: Visit): AsyncGenerator<Uint8Array> {
  for (const part of visit.parts()) {
    yield Buffer.from(part);
    await pause(visit);
  }
}

/** A server may respond with an error where this happens before it has sent the head. */
async function* breaking(visit: Visit): AsyncGenerator<Uint8Array> {
  yield Buffer.from(visit.mark);
  await visit.run.clock.sleep(100);
  throw new Error('the stream broke');
}

/** A function of a `Request`, on the server that Hono has for Node. */
export const fetchHost: SimulatedHost = {
  name: 'fetch',
  commits: true,
  scopeOnError: 'either',
  bringsScopes: false,
  // Only the first of several requests on a connection learns that the client has left.
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
  const waits = hearError(visit, error);
  if (waits) await pause(visit);
  return Response.json(bodyOf(visit, error), { status: visit.respondsWithError(statusOf(error), waits) });
}
