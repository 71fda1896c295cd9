import type { AddressInfo } from 'node:net';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import type { IContainer } from '@ambit/container';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import {
  type AppDescription,
  BODY_LIMIT,
  type Call,
  type Host,
  type Reply,
  replyTo,
  type Route,
  type RunningHost,
} from './host.js';

export const fastifyHost = fastifyWith(() => undefined);

interface FastifyParts {
  readonly disposeOn?: 'error' | 'response';
}

/** Fastify with routes of its own, which say what only Fastify can say. */
export function fastifyWith(mount: (app: FastifyInstance) => unknown, parts: FastifyParts = {}): Host {
  return { name: 'Fastify', start: (description) => start(mount, parts, description) };
}

async function start(
  mount: (app: FastifyInstance) => unknown,
  parts: FastifyParts,
  { container, routes, onDisposeError, ownErrorHandler = true, limits, before, onError }: AppDescription,
): Promise<RunningHost> {
  const app = fastify({ bodyLimit: BODY_LIMIT });
  if (before) app.addHook('onRequest', ({ raw }, _reply, done) => void before(raw, done));
  await app.register(containerPlugin, { container, onDisposeError, ...limits, ...parts });
  await app.register(transactionPlugin);
  if (ownErrorHandler) {
    app.setErrorHandler((error, _request, reply) => {
      onError(error);
      const { status, body } = replyTo(error);
      return reply.code(status).send(body);
    });
  }
  for (const route of routes) {
    app.route({ method: route.method, url: route.path, handler: handlerOf(route) });
  }
  await mount(app);
  await app.listen({ port: 0, host: '127.0.0.1' });
  return {
    port: (app.server.address() as AddressInfo).port,
    close: () => app.close(),
  };
}

function handlerOf({ transaction, handle }: Route) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    let open = transaction !== undefined;
    if (transaction) await request.startTransaction(transaction);
    const answer = async (answered: Reply): Promise<void> => {
      if (open) {
        open = false;
        await request.commitTransaction();
      }
      send(reply, answered);
    };
    const call: Call = {
      scope: request.container,
      get transactionScope() {
        return request.transactionScope as IContainer;
      },
      body: request.body,
      setHeaders: (headers) => void reply.headers(headers),
      answer,
      fail: (error) => void reply.send(error),
    };
    const answered = await handle(call);
    if (answered) await answer(answered);
    return reply;
  };
}

function send(reply: FastifyReply, answer: Reply): void {
  if (answer.kind === 'json') reply.code(answer.status ?? 200).send(answer.body);
  else if (answer.kind === 'text') reply.send(answer.text);
  else if (answer.kind === 'status') reply.code(answer.status).send();
  else if (answer.kind === 'redirect') reply.redirect(answer.to);
  else if (answer.kind === 'stream') reply.send(answer.stream);
  else reply.hijack().raw.end(answer.text);
}
