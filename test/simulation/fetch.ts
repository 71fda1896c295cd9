import { ReadableStream } from 'node:stream/web';
import { createServer, type IncomingMessage } from 'node:http';
import type { IContainer } from '@ambit/container';
import { createHandler, errorResponse, withTransaction } from '@ambit/fetch';
import { getRequestListener } from '@hono/node-server';
import { chooseDeed, type Deeds } from './deeds.js';
import { checkErrorHandler, ROLLS_BACK } from './moments.js';
import { type Visit, visitOf } from './visit.js';
import { pause, takeTime, untilDisconnected, wait, work } from './work.js';
import { type Served, type SimulatedHost, statusOf } from './host.js';

interface Scene {
  readonly visit: Visit;
  readonly requestScope: IContainer;
}

type Deed = (scene: Scene) => Response | Promise<Response>;

/** Everything a handler may do that gives a `Response`. */
const PLAIN_DEEDS = {
  respond: ({ visit }) => json(visit, 201),
  refuse: ({ visit }) => json(visit, 409),
  'respond with what rolls back': ({ visit }) => json(visit, ROLLS_BACK),
  text: ({ visit }) => new Response(visit.mark, { status: visit.respondsWith(200) }),
  'respond with nothing but a status': ({ visit }) => new Response(null, { status: visit.respondsWith(204) }),
  redirect: ({ visit }) =>
    new Response(null, { status: visit.respondsWith(303), headers: { location: `/${visit.mark}` } }),
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
  throw: ({ visit }) => {
    throw visit.fails();
  },
  'respond with what cannot be serialised': () => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    return Response.json(circular);
  },
  'wait forever': ({ visit }) => wait(visit),
  'wait until the client disconnects': async ({ visit, requestScope }) => {
    await untilDisconnected(visit, requestScope);
    return json(visit, 200);
  },
} satisfies Record<string, Deed>;

/** What only a handler with a transaction can do. */
const ORDER_DEEDS = {
  ...PLAIN_DEEDS,
  'commit by itself': async ({ visit }) => {
    visit.asked = 'commit';
    visit.endsItself = true;
    await visit.handles[0]?.commit();
    visit.committed();
    return json(visit, 201);
  },
  'roll back and refuse': async ({ visit }) => {
    visit.asked = 'rollback';
    await visit.handles[0]?.rollback();
    return json(visit, 409);
  },
  'roll back and say it went well': async ({ visit }) => {
    visit.asked = 'rollback';
    await visit.handles[0]?.rollback();
    return json(visit, 201);
  },
} satisfies Record<string, Deed>;

/** The handler of every request: `scope` is that of its transaction, where it has one. */
export async function respondWithResponse(
  visit: Visit,
  requestScope: IContainer,
  scope: IContainer,
): Promise<Response> {
  const { chance } = visit.run;
  const deeds: Deeds<Scene> = visit.inTransaction ? ORDER_DEEDS : PLAIN_DEEDS;
  const deed = chooseDeed(visit, deeds, 'respond') as Deed;
  try {
    if (!visit.inTransaction) await pause(visit);
    else if (chance.of(0.9)) await work(visit, scope);
    else await work(visit, scope).catch(() => visit.note('swallows a failure'));
    return await deed({ visit, requestScope });
  } catch (error) {
    visit.fails();
    throw error;
  }
}

function json(visit: Visit, status: number): Response {
  return Response.json({ mark: visit.mark }, { status: visit.respondsWith(status) });
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
  visit.note(`error handler: ${String(error).split('\n')[0]}`);
  checkErrorHandler(visit);
  const waits = !visit.run.calm && visit.run.chance.of(0.4);
  if (waits) await pause(visit);
  const status = visit.respondsWithError(statusOf(error), waits);
  return Response.json({ mark: visit.mark, error: Object(error).code ?? 'failed' }, { status });
}
