import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { containerPlugin, problemOf, transactionPlugin } from '@ambit/fastify';
import type { IContainer } from '@ambit/container';
import { fastify, type FastifyReply, type FastifyRequest } from 'fastify';
import type { AppDescription, Call, Host, Reply, Route, RunningHost } from '@ambit/testing/hosts';
import { BODY_LIMIT } from '@ambit/testing/tools';

export const fastifyHost: Host = {
  name: 'Fastify',
  exceptions: [
    {
      test: /currentScope\(\) of a route with a transaction/,
      because: 'these handlers call startTransaction(); packages/fastify tests routes with config.transaction',
    },
  ],
  start,
};

async function start({
  container,
  routes,
  onDisposeError,
  ownErrorHandler = true,
  limits,
  before,
  onError,
  scopeOptions: { parent, ...scopeOptions } = {},
}: AppDescription): Promise<RunningHost> {
  const app = fastify({ bodyLimit: BODY_LIMIT });
  if (before) app.addHook('onRequest', ({ raw }, _reply, done) => void before(raw, done));
  await app.register(containerPlugin, {
    container: parent ?? container,
    onDisposeError,
    ...limits,
    ...scopeOptions,
  });
  await app.register(transactionPlugin);
  app.addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null));
  if (ownErrorHandler) {
    app.setErrorHandler((error, _request, reply) => {
      onError(error);
      const { status, headers, body } = problemOf(error);
      return reply.code(status).headers(headers).send(body);
    });
  }
  for (const route of routes) {
    const { method, path: url, transaction } = route;
    const config = transaction && route.responseDecides ? { transaction } : {};
    app.route({ method, url, config, handler: handlerOf(route) });
  }
  await app.listen({ port: 0, host: '127.0.0.1' });
  return {
    port: (app.server.address() as AddressInfo).port,
    close: async () => {
      await app.close();
      if (parent) await container.dispose();
    },
  };
}

function handlerOf({ transaction, responseDecides = false, handle, wrap }: Route) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    let open = transaction !== undefined && !responseDecides;
    wrap?.before?.(reply.raw);
    if (transaction && open) await request.startTransaction(transaction);
    wrap?.behind?.(reply.raw);
    const respond = async (sent: Reply): Promise<void> => {
      if (open) {
        open = false;
        await request.commitTransaction();
      }
      send(reply, sent);
    };
    const call: Call = {
      scope: request.container,
      get transactionScope() {
        return request.transactionScope as IContainer;
      },
      body: request.body,
      readBody: () => text(request.raw),
      header: (name) => request.headers[name],
      setHeaders: (headers) => void reply.headers(headers),
      respond,
      fail: (error) => void reply.send(error),
    };
    const returned = await handle(call);
    if (returned) await respond(returned);
    return reply;
  };
}

function send(reply: FastifyReply, response: Reply): void {
  if (response.kind === 'json') reply.code(response.status ?? 200).send(response.body);
  else if (response.kind === 'text') reply.send(response.text);
  else if (response.kind === 'status') reply.code(response.status).send();
  else if (response.kind === 'redirect') reply.redirect(response.to);
  else if (response.kind === 'stream') reply.send(response.stream);
  else reply.hijack().raw.end(response.text);
}
