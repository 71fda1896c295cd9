import { Readable } from 'node:stream';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IConnection } from '@ambit/transaction';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import type { IContainer } from '@ambit/container';
import { chooseDeed, type Deeds } from './deeds.js';
import { type Visit, visitOf } from './visit.js';
import { breaking, ignore, pause, untilDisconnected, wait, work } from './work.js';
import { bodyOf, hearError, type Served, type SimulatedHost, statusOf } from './host.js';

interface Scene {
  readonly visit: Visit;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Everything a handler may do without a transaction, or with one that is over. */
const PLAIN_DEEDS: Deeds<Scene> = {
  respond: ({ visit, reply }) => reply.code(visit.respondsWith(201)).send({ mark: visit.mark }),
  'return the response': ({ visit, reply }) => {
    reply.code(visit.respondsWith(200));
    return { mark: visit.mark };
  },
  refuse: ({ visit, reply }) => reply.code(visit.respondsWith(409)).send({ mark: visit.mark }),
  'say nothing but a status': ({ visit, reply }) => reply.code(visit.respondsWith(204)).send(),
  redirect: ({ visit, reply }) => reply.redirect(`/${visit.mark}`, visit.respondsWith(303)),
  'send a stream': ({ visit, reply }) => reply.code(visit.respondsWith(200)).send(Readable.from(visit.parts())),
  'send a stream that breaks': ({ visit, reply }) => {
    visit.breaksOff = true;
    return reply.code(visit.respondsWith(200)).send(Readable.from(breaking(visit)));
  },
  'respond twice': async ({ visit, reply }) => {
    void reply.code(visit.respondsWith(201)).send({ mark: visit.mark });
    await pause(visit);
    return reply.code(visit.respondsWith(500)).send({ mark: visit.mark });
  },
  'respond, then throw': async ({ visit, reply }) => {
    void reply.code(visit.respondsWith(201)).send({ mark: visit.mark });
    await pause(visit);
    throw new Error('failed after the response');
  },
  'respond past the hooks': ({ visit, reply }) => {
    reply.hijack();
    reply.raw.writeHead(visit.respondsWith(200));
    reply.raw.end(visit.mark);
    return reply;
  },
  throw: ({ visit }) => {
    throw visit.fails();
  },
  'send an error': ({ visit, reply }) => reply.send(visit.fails()),
  'respond with what cannot be serialised': ({ visit, reply }) => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    visit.fails();
    return reply.send(circular);
  },
  'wait forever': ({ visit }) => wait(visit),
  'wait until the client disconnects': async ({ visit, request, reply }) => {
    await untilDisconnected(visit, request.container);
    return reply.code(visit.respondsWith(200)).send({ mark: visit.mark });
  },
  'destroy the response': ({ visit, reply }) => {
    visit.breaksOff = true;
    reply.raw.destroy();
    return reply;
  },
};

/** Every way to commit, to roll back, or to do neither. */
const ORDER_DEEDS: Deeds<Scene> = {
  ...Object.fromEntries(
    Object.entries(PLAIN_DEEDS).map(([name, deed]) => [
      `commit, then ${name}`,
      async (scene: Scene) => {
        await commit(scene);
        return deed(scene);
      },
    ]),
  ),
  throw: ({ visit }) => {
    throw visit.fails();
  },
  'send an error': ({ visit, reply }) => reply.send(visit.fails()),
  'wait forever': ({ visit }) => wait(visit),
  'commit without awaiting it, then respond': async (scene) => {
    const { visit, reply } = scene;
    // Who is notified before it responds, and responds all the same, is not to be believed.
    commit(scene).catch(() => (visit.lies = !visit.first));
    if (visit.run.chance.of(0.5)) await pause(visit);
    return reply.code(visit.respondsWith(201)).send({ mark: visit.mark });
  },
  'commit without awaiting it, then throw': (scene) => {
    commit(scene).catch(ignore);
    throw scene.visit.fails();
  },
  'respond with the transaction open': ({ visit, reply }) =>
    reply.code(visit.respondsWith(201)).send({ mark: visit.mark }),
  'respond with the transaction open, then commit': async ({ visit, request, reply }) => {
    void reply.code(visit.respondsWith(201)).send({ mark: visit.mark });
    await pause(visit);
    await request.commitTransaction().catch(ignore);
    return reply;
  },
  'respond past the hooks with the transaction open': ({ visit, reply }) => {
    visit.lies = true;
    reply.hijack();
    reply.raw.writeHead(visit.respondsWith(200));
    reply.raw.end(visit.mark);
    return reply;
  },
  'roll back and refuse': async ({ visit, request, reply }) => {
    visit.asked = 'rollback';
    await request.rollbackTransaction();
    return reply.code(visit.respondsWith(409)).send({ mark: visit.mark });
  },
  'commit by itself': async ({ visit, reply }) => {
    visit.asked = 'commit';
    visit.endsItself = true;
    await visit.handles[0]?.commit();
    visit.committed();
    return reply.code(visit.respondsWith(201)).send({ mark: visit.mark });
  },
  'roll back by itself and refuse': async ({ visit, reply }) => {
    visit.asked = 'rollback';
    await visit.handles[0]?.rollback();
    return reply.code(visit.respondsWith(409)).send({ mark: visit.mark });
  },
  'begin twice': async ({ visit, request }) => {
    await request.startTransaction(visit.terms());
    visit.broke('a second transaction began beside the first');
  },
  'commit twice': async (scene) => {
    await commit(scene);
    return commit(scene);
  },
  'commit, then begin another': async (scene) => {
    const { visit, request, reply } = scene;
    await commit(scene);
    const again = await request.startTransaction(visit.terms());
    const connection = again.resolve<IConnection>('IConnection');
    visit.handles.push(connection);
    visit.written.add(`${visit.mark} again`);
    await connection.query(`${visit.mark} again`);
    await commit(scene);
    return reply.code(visit.respondsWith(201)).send({ mark: visit.mark });
  },
};

async function commit({ visit, request }: Scene): Promise<void> {
  visit.asked = 'commit';
  await request.commitTransaction();
  visit.committed();
}

/** The handler of every route. */
async function respondOnFastify(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const visit = visitOf(request.raw);
  const { chance } = visit.run;
  const deed = visit.inTransaction
    ? chooseDeed(visit, ORDER_DEEDS, 'commit, then respond')
    : chooseDeed(visit, PLAIN_DEEDS, 'respond');
  try {
    if (visit.inTransaction) await begin(visit, request);
    else await pause(visit);
    if (chance.of(0.2)) reply.header('location', `/${visit.mark}`);
    return await deed({ visit, request, reply });
  } catch (error) {
    visit.fails();
    throw error;
  }
}

async function begin(visit: Visit, request: FastifyRequest): Promise<void> {
  const working = work(visit, await request.startTransaction(visit.terms()));
  if (visit.run.chance.of(0.9)) await working;
  else await working.catch(() => visit.note('swallows a failure'));
}

/** Two servers for all runs, one for each value of `disposeOn`; what differs otherwise is found by the socket. */
export function fastifyHost(disposeOn: 'error' | 'response'): SimulatedHost {
  const maxRequestsPerConnection = disposeOn === 'error' ? 3 : 1;
  return {
    name: `Fastify with disposeOn: '${disposeOn}'`,
    commits: false,
    scopeOnError: disposeOn === 'error' ? 'disposed' : 'open',
    maxRequestsPerConnection,
    serve: () => serve(disposeOn, maxRequestsPerConnection),
  };
}

async function serve(disposeOn: 'error' | 'response', maxRequestsPerConnection: number): Promise<Served> {
  const server = fastify();
  const application = new Application();
  server.addHook('onRequest', takeTime);
  server.addHook('onRequest', (request, _reply, done) => {
    application.is(visitOf(request.raw).run.application, done);
  });
  const onDisposeError = (_error: unknown, { raw }: FastifyRequest): void => void (visitOf(raw).disposeErrors += 1);
  const options = { container: application, disposeOn, maxRequestsPerConnection, onDisposeError };
  await server.register(containerPlugin, options);
  await server.register(transactionPlugin);
  server.addHook('onRequest', (request, _reply, done) => {
    visitOf(request.raw).begins(request.container);
    done();
  });
  await server.register(async (inner) => mountRoutes(inner), { prefix: '/bare' });
  await server.register(async (inner) => mountRoutes(inner.setErrorHandler(respondToError)));
  server.addHook('preHandler', takeTime);
  await server.ready();
  return { server: server.server, close: (ending) => close(server, application, ending) };
}

/** Before our plugins the client may leave, and behind them as well. */
async function takeTime({ raw }: FastifyRequest): Promise<void> {
  const visit = visitOf(raw);
  if (!visit.run.calm && visit.run.chance.of(0.05)) await pause(visit);
}

function mountRoutes(server: FastifyInstance): void {
  server.post('/orders', respondOnFastify);
  server.post('/plain', respondOnFastify);
}

async function close(server: FastifyInstance, application: Application, ending: IContainer): Promise<void> {
  application.closing = ending;
  await server.close();
}

/**
 * Stands for the application container of the run that the request belongs to: the plugin takes one for good, and opens the scope
 * of a request that waits for its turn later, in the asynchronous context of that request.
 */
class Application implements IContainer {
  /** That of the one run whose server closes, and calls its hooks in no request's context. */
  closing: IContainer | undefined = undefined;
  readonly #current = new AsyncLocalStorage<IContainer>();

  is<T>(current: IContainer, act: () => T): T {
    return this.#current.run(current, act);
  }

  createScope(options: { tags: string[] }): IContainer {
    return this.#get().createScope(options);
  }

  resolve<T>(key: string): T {
    return this.#get().resolve<T>(key);
  }

  register(key: string, factory: (scope: IContainer) => unknown): void {
    this.#get().register(key, factory);
  }

  dispose(): Promise<void> | void {
    return this.#get().dispose();
  }

  #get(): IContainer {
    const current = this.#current.getStore() ?? this.closing;
    if (!current) throw new Error('no run has begun');
    return current;
  }
}

async function respondToError(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const visit = visitOf(request.raw);
  const waits = hearError(visit, error, request.transactionScope);
  if (waits) await pause(visit);
  return reply.code(visit.respondsWithError(statusOf(error), waits)).send(bodyOf(visit, error));
}
