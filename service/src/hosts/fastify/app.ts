import { lookup } from 'node:dns/promises';
import { maxHeaderSize } from 'node:http';
import type { IContainer } from '@ambit/container';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import { inspector } from '@ambit/inspector/fastify';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { TObject, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import {
  beginRequest,
  bodyValidator,
  identifyCaller,
  logRequest,
  mayHaveBody,
  readJsonBody,
  requireHostHeader,
  simplifyTargets,
} from '../../http/request.js';
import { type ErrorResponse, errorResponse, respondToFailure } from '../../http/response.js';
import { isEssential, serviceRoutes, unrouted } from '../../http/routes.js';
import { limitServer, respondToClientError, SERVER_OPTIONS } from '../../http/server.js';
import { newId } from '../../ids.js';
import type { ILogger } from '../../logging/logger.js';
import { idempotentOrder, lockKey, NewOrder, placeOrder } from '../../orders/orders.js';
import { type Host, type HostOptions, urlOf } from '../host.js';
import { userRoutes } from './users.js';

function handleErrors(server: FastifyInstance, options: HostOptions): void {
  const respond = responderTo(options);
  server.setErrorHandler((error, request, reply) => send(reply, respond(error, request, reply)));
}

function responderTo(options: HostOptions) {
  return (error: unknown, { container }: FastifyRequest, reply: FastifyReply): ErrorResponse =>
    respondToFailure(options, { requestId: reply.getHeader('x-request-id'), container, res: reply.raw }, error);
}

/** For an address that Fastify cannot decode: no hook has run, so the request has no id yet. */
function handleUndecodable({ logger }: HostOptions) {
  return (error: Error, { raw }: FastifyRequest, reply: FastifyReply): void => {
    const requestId = newId();
    logRequest(logger, { requestId }, raw, reply.raw);
    void send(reply.header('x-request-id', requestId), errorResponse(error));
  };
}

/** Logs an error that cannot change the response any more. */
function logError(logger: ILogger, msg: string) {
  return (err: unknown, { id: requestId }: FastifyRequest): void => logger.error({ msg, requestId, err });
}

function send(reply: FastifyReply, { status, headers, body }: ErrorResponse): FastifyReply {
  return reply.code(status).headers(headers).send(body);
}

/** What runs before the handler of each request, whatever its address. */
function addHooks(server: FastifyInstance, options: HostOptions): void {
  const { identify, telemetry } = options;

  server.addHook('onRequest', (request, reply, done) => {
    const { requestId } = beginRequest(options, request.container, request.raw, reply.raw);
    request.id = requestId;
    reply.header('x-request-id', requestId);
    requireHostHeader(request.raw);
    done();
  });

  if (identify)
    server.addHook('onRequest', ({ raw, container }) =>
      identifyCaller(identify, raw, container.resolve('IRequestContext')),
    );

  // Bodies are read before Fastify looks at their headers: it would close the connection of each that it refuses.
  server.addHook('preParsing', (request, _reply, payload, done) => {
    if (mayHaveBody(request.raw)) void readBody(request, (error) => done(error, payload));
    else done(null, payload);
  });
  server.addHook('preParsing', (request, _reply, _payload, done) =>
    done(request.is404 ? unrouted(request.url, telemetry) : null),
  );
  server.removeAllContentTypeParsers();
  // The most frequent type is found at once, `*` only after a search.
  for (const type of ['application/json', '*'])
    server.addContentTypeParser(type, (request, _payload, done) => done(null, request.body));
}

async function readBody(request: FastifyRequest, done: (error: Error | null) => void): Promise<void> {
  try {
    request.body = await readJsonBody(request.raw);
  } catch (error) {
    return done(error as Error);
  }
  done(null);
}

async function orderRoutes(server: FastifyInstance): Promise<void> {
  server.post<{ Body: NewOrder }>('/', { schema: { body: NewOrder } }, async (request, reply) => {
    const idempotent = idempotentOrder(request.headers['idempotency-key'], request.body);
    lockKey(request.container, idempotent);
    const scope = await request.startTransaction();
    try {
      const { status, headers, body, replayed } = await placeOrder(scope, idempotent, request.body);
      if (!replayed) await scope.resolve('IAuditLogger').log('order_created', { orderId: body.id });
      await request.commitTransaction();
      return await reply.code(status).headers(headers).send(body);
    } catch (error) {
      await request.rollbackTransaction();
      throw error;
    }
  });
}

/** Makes Fastify use the schemas of a route as Express uses them: the same error messages, the same bytes in a response. */
function compileSchemas(server: FastifyInstance): void {
  server.setValidatorCompiler<TSchema>(({ schema }) => bodyValidator(schema));

  // Fastify's own serializer would write the required fields first.
  server.setSerializerCompiler<TObject>(({ schema }) => {
    const validator = Compile(schema);
    const fields = Object.keys(schema.properties);
    return (data: unknown) => {
      if (!validator.Check(data)) throw new Error('The response does not match its schema');
      const body: Record<string, unknown> = {};
      for (const field of fields) body[field] = (data as Record<string, unknown>)[field];
      return JSON.stringify(body);
    };
  });
}

/** The API as a Fastify server. The container may hold fakes. */
export async function createFastifyApp(container: IContainer, options: HostOptions): Promise<FastifyInstance> {
  const { logger, inspect, transaction, sandboxes, keepIdleMs = 0 } = options;
  const server = fastify({
    // Accepted requests are completed, also while the server closes.
    return503OnClosing: false,
    http: SERVER_OPTIONS,
    routerOptions: { maxParamLength: maxHeaderSize },
    frameworkErrors: handleUndecodable(options),
    clientErrorHandler: respondToClientError(logger),
  });
  if (inspect) await server.register(inspector, inspect);
  const onDisposeError = logError(logger, 'The request scope failed to dispose');
  const onError = logError(logger, 'The transaction failed to close');
  const parent = sandboxes?.scopeOf ?? container;
  await server.register(containerPlugin, { container: parent, keepIdleMs, onDisposeError, isEssential });
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
  limitServer(app.server, options.logger);
  simplifyTargets(app.server);
  return {
    listen: async (port, host) => {
      // For a name with several addresses Fastify would create further servers, without the limits of this one.
      const { address } = await lookup(host);
      await app.listen({ port, host: address });
      return urlOf(app.server);
    },
    close: async (timeoutMs) => {
      const timer = setTimeout(() => app.server.closeAllConnections(), timeoutMs);
      await app.close();
      clearTimeout(timer);
      // Fastify has disposed it already, but where it knows only the function that finds a sandbox.
      await container.dispose();
    },
  };
}
