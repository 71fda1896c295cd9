import { lookup } from 'node:dns/promises';
import { maxHeaderSize } from 'node:http';
import type { IContainer } from '@ambit/container';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import { inspector } from '@ambit/inspector/fastify';
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify';
import { isEssential } from '../../http/essential.js';
import { simplifyTargets } from '../../http/request-address.js';
import { answerClientError, limitServer, SERVER_OPTIONS } from '../../http/server-limits.js';
import { type Host, type HostOptions, urlOf } from '../host.js';
import { answerAndLogWith, answerErrors, answerUnreadable } from './errors.js';
import { healthRoutes } from './health.js';
import { readJsonBodies } from './json-body.js';
import { metricsRoutes } from './metrics.js';
import { orderRoutes } from './orders.js';
import { referenceRoutes } from './reference.js';
import { requestHead } from './request-head.js';
import { userRoutes } from './users.js';
import { readSchemas } from './schemas.js';
import { refuseUnrouted } from './unrouted.js';

/** Variant P: the API as a Fastify server. The container may be one of fakes. */
export async function createFastifyApp(container: IContainer, options: HostOptions): Promise<FastifyInstance> {
  const { logger, telemetry, inspect, transaction } = options;
  const server = fastify({
    // What was accepted is answered, also while closing.
    return503OnClosing: false,
    http: SERVER_OPTIONS,
    routerOptions: { maxParamLength: maxHeaderSize },
    frameworkErrors: answerUnreadable(options),
    clientErrorHandler: answerClientError(logger),
  });
  const logLate =
    (msg: string) =>
    (err: unknown, { id: requestId }: FastifyRequest): void =>
      logger.error({ msg, requestId, err });
  if (inspect) await server.register(inspector, inspect);
  const onDisposeError = logLate('The request scope failed to dispose');
  await server.register(containerPlugin, { container, onDisposeError, isEssential });
  await server.register(transactionPlugin, { ...transaction, onError: logLate('The transaction failed to close') });

  requestHead(server, options);
  readJsonBodies(server);
  refuseUnrouted(server, options);
  readSchemas(server);
  answerErrors(server, options);

  await server.register(userRoutes, { prefix: '/api/users', onStreamError: answerAndLogWith(options) });
  await server.register(orderRoutes, { prefix: '/api/orders' });
  await server.register(healthRoutes, { prefix: '/health' });
  await server.register(referenceRoutes);
  if (telemetry?.metrics) metricsRoutes(server, telemetry.metrics);
  return server;
}

export async function createFastifyHost(container: IContainer, options: HostOptions): Promise<Host> {
  const app = await createFastifyApp(container, options);
  limitServer(app.server, options.logger);
  simplifyTargets(app.server);
  return {
    listen: async (port, host) => {
      // Of the addresses of a name Fastify would take each, on further servers without the limits of this one.
      const { address } = await lookup(host);
      await app.listen({ port, host: address });
      return urlOf(app.server);
    },
    close: async (timeoutMs) => {
      const cut = setTimeout(() => app.server.closeAllConnections(), timeoutMs);
      await app.close();
      clearTimeout(cut);
    },
  };
}
