import { AsyncLocalStorage } from 'node:async_hooks';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import type { IContainer } from '@ambit/container';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { respondOnFastify } from './fastify-handlers.js';
import { type Served, statusOf, type SimulatedHost } from './host.js';
import { checkErrorHandler } from './moments.js';
import { visitOf } from './visit.js';
import { pause } from './work.js';

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
  visit.note(`error handler: ${String(error).split('\n')[0]}`);
  checkErrorHandler(visit, request.transactionScope);
  const waits = !visit.run.calm && visit.run.chance.of(0.4);
  if (waits) await pause(visit);
  return reply
    .code(visit.respondsWithError(statusOf(error), waits))
    .send({ mark: visit.mark, error: Object(error).code ?? 'failed' });
}
