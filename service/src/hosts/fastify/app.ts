import { lookup } from 'node:dns/promises';
import { maxHeaderSize } from 'node:http';
import type { IContainer } from '@ambit/container';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import { inspectorPlugin } from '@ambit/inspector/fastify';
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify';
import { simplifyTargets } from '../../http/request.js';
import { isEssential, serviceRoutes } from '../../http/routes.js';
import { closeServer, limitServer, respondToClientError, SERVER_OPTIONS } from '../../http/server.js';
import type { ILogger } from '../../logging/logger.js';
import { type Host, type HostOptions, urlOf } from '../host.js';
import {
  addHooks,
  compileSchemas,
  handleErrors,
  handleUndecodable,
  orderRoutes,
  responderTo,
  userRoutes,
} from './routes.js';

/** Logs an error that cannot change the response any more. */
function logError(logger: ILogger, msg: string) {
  return (err: unknown, { id: requestId }: FastifyRequest): void => logger.error({ msg, requestId, err });
}

/** The API as a Fastify server. The container may hold fakes. */
export async function createFastifyApp(container: IContainer, options: HostOptions): Promise<FastifyInstance> {
  const { logger, inspect, transaction, sandboxes } = options;
  const server = fastify({
    // Accepted requests are completed, also while the server closes.
    return503OnClosing: false,
    http: SERVER_OPTIONS,
    routerOptions: { maxParamLength: maxHeaderSize },
    frameworkErrors: handleUndecodable(options),
    clientErrorHandler: respondToClientError(logger),
  });
  if (inspect) await server.register(inspectorPlugin, inspect);
  const onDisposeError = logError(logger, 'The request scope failed to dispose');
  const onError = logError(logger, 'The transaction failed to close');
  const parent = sandboxes?.scopeOf ?? container;
  await server.register(containerPlugin, { container: parent, onDisposeError, isEssential });
  await server.register(transactionPlugin, { ...transaction, onError });

  addHooks(server, options);
  compileSchemas(server);
  handleErrors(server, options);

  await server.register(userRoutes, { prefix: '/api/users', onStreamError: responderTo(options) });
  await server.register(orderRoutes, { prefix: '/api/orders' });
  for (const { method, path, respond } of serviceRoutes(options)) {
    server[method](path, async (request, reply) => {
      const { status, headers, body } = await respond(request);
      return reply.code(status).headers(headers).send(body);
    });
  }
  return server;
}

export async function createFastifyHost(container: IContainer, options: HostOptions): Promise<Host> {
  const app = await createFastifyApp(container, options);
  limitServer(app.server, options);
  simplifyTargets(app.server);
  return {
    listen: async (port, host) => {
      // For a name with several addresses Fastify would create further servers, without the limits of this one.
      const { address } = await lookup(host);
      await app.listen({ port, host: address });
      return urlOf(app.server);
    },
    close: async (timeoutMs) => {
      // Before Fastify closes, which waits for clients without a limit.
      await closeServer(app.server, container, { ...options, timeoutMs });
      await app.close();
      // Fastify has disposed it already, but where it knows only the function that finds a sandbox.
      await container.dispose();
    },
  };
}
