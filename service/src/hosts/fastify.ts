import { maxHeaderSize } from 'node:http';
import type { IContainer } from '@ambit/container';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import { inspectorPlugin } from '@ambit/inspector/fastify';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { bodyValidator, JsonBodies, mayHaveBody } from '../http/body.js';
import { beginRequest, checkHead, identifyCaller, logRequest } from '../http/request.js';
import { errorResponse, type HttpResponse, PROTECTED, respondToFailure } from '../http/response.js';
import { isEssential, serviceRoutes, unrouted } from '../http/routes.js';
import { hostOn, respondToClientError, SERVER_OPTIONS } from '../http/server.js';
import { newId } from '../ids.js';
import type { ILogger } from '../logging/logger.js';
import type { Host, HostOptions } from './host.js';
import { orderRoutes, userRoutes, validatingSerializer } from './fastify-routes.js';

/** Logs an error that cannot change the response any more. */
function logError(logger: ILogger, msg: string) {
  return (err: unknown, { id: requestId }: FastifyRequest): void => logger.error({ msg, requestId, err });
}

const send = (reply: FastifyReply, { status, headers, body }: HttpResponse): FastifyReply =>
  reply.code(status).headers(headers).send(body);

/** These hooks run before the handler of each request, whatever its address. */
function addHooks(server: FastifyInstance, options: HostOptions): void {
  const { identify, telemetry } = options;
  const bodies = new JsonBodies();

  server.addHook('onRequest', (request, reply, done) => {
    const { requestId } = beginRequest(options, request.container, request.raw, reply.raw);
    request.id = requestId;
    reply.header('x-request-id', requestId).headers(PROTECTED);
    checkHead(request.raw);
    done();
  });
  if (identify)
    server.addHook('onRequest', ({ raw, container }) =>
      identifyCaller(identify, raw, container.resolve('IRequestContext')),
    );
  // Bodies are read before Fastify looks at their headers: it would close the connection of each that it refuses.
  server.addHook('preParsing', (request, _reply, payload, done) => {
    const refuseUnrouted = (): void => done(request.is404 ? unrouted(request.url, telemetry) : null, payload);
    if (!mayHaveBody(request.raw)) return refuseUnrouted();
    bodies.read(request.raw).then((body) => {
      request.body = body;
      refuseUnrouted();
    }, done);
  });
  server.removeAllContentTypeParsers();
  // The most frequent type is found at once, `*` only after a search.
  for (const type of ['application/json', '*'])
    server.addContentTypeParser(type, (request, _payload, done) => done(null, request.body));
}

/** The API as a Fastify server. The container may hold fakes. */
export async function createFastifyApp(container: IContainer, options: HostOptions): Promise<FastifyInstance> {
  const { logger, inspect, transaction } = options;
  const respond = (error: unknown, request: FastifyRequest, reply: FastifyReply): HttpResponse => {
    const failed = { requestId: reply.getHeader('x-request-id'), container: request.container, res: reply.raw };
    return respondToFailure(options, failed, error);
  };
  const server = fastify({
    // Accepted requests are completed, also while the server closes.
    return503OnClosing: false,
    http: SERVER_OPTIONS,
    routerOptions: { maxParamLength: maxHeaderSize },
    // For an address that Fastify cannot decode: no hook has run, so the request has no id yet.
    frameworkErrors: (error, { raw }, reply) => {
      const requestId = newId();
      logRequest(logger, { requestId }, raw, reply.raw);
      send(reply.header('x-request-id', requestId).headers(PROTECTED), errorResponse(error));
    },
    clientErrorHandler: respondToClientError(logger),
  });
  if (inspect) await server.register(inspectorPlugin, inspect);
  await server.register(containerPlugin, {
    container,
    onDisposeError: logError(logger, 'The request scope failed to dispose'),
    isEssential,
  });
  const onError = logError(logger, 'The transaction failed to close');
  await server.register(transactionPlugin, { ...transaction, onError });

  addHooks(server, options);
  // Fastify uses the schemas of a route as Express uses them: the same error messages, the same bytes in a response.
  server.setValidatorCompiler<TSchema>(({ schema }) => bodyValidator(schema));
  server.setSerializerCompiler(validatingSerializer);
  server.setErrorHandler((error, request, reply) => send(reply.headers(PROTECTED), respond(error, request, reply)));

  await server.register((routes) => userRoutes(routes, respond), { prefix: '/api/users' });
  await server.register(orderRoutes, { prefix: '/api/orders' });
  for (const { path, respond: respondTo } of serviceRoutes(options))
    server.get(path, async (request, reply) => send(reply, await respondTo(request)));
  return server;
}

export async function createHost(container: IContainer, options: HostOptions): Promise<Host> {
  const app = await createFastifyApp(container, options);
  await app.ready();
  // Not by its own `listen()`: for a name with several addresses that creates further servers, without the limits of this one.
  return hostOn(app.server, container, options, () => app.close());
}
