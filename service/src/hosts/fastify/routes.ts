import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TObject, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import {
  beginRequest,
  bodyCheck,
  bodyValidator,
  identifyCaller,
  JsonBodies,
  logRequest,
  mayHaveBody,
  requireOneHost,
} from '../../http/request.js';
import { type ErrorResponse, errorResponse, JSON_TYPE, PROTECTED, respondToFailure } from '../../http/response.js';
import { unrouted } from '../../http/routes.js';
import { newId } from '../../ids.js';
import { lockOrder, NewOrder, placeOrder } from '../../orders/orders.js';
import { CreatedUser, createUser, discard, getUser, listUsers, NewUser } from '../../users/users.js';
import type { HostOptions } from '../host.js';

export function handleErrors(server: FastifyInstance, options: HostOptions): void {
  const respond = responderTo(options);
  server.setErrorHandler((error, request, reply) => send(reply, respond(error, request, reply)));
}

export function responderTo(options: HostOptions) {
  return (error: unknown, { container }: FastifyRequest, reply: FastifyReply): ErrorResponse =>
    respondToFailure(options, { requestId: reply.getHeader('x-request-id'), container, res: reply.raw }, error);
}

/** For an address that Fastify cannot decode: no hook has run, so the request has no id yet. */
export function handleUndecodable({ logger }: HostOptions) {
  return (error: Error, { raw }: FastifyRequest, reply: FastifyReply): void => {
    const requestId = newId();
    logRequest(logger, { requestId }, raw, reply.raw);
    void send(reply.header('x-request-id', requestId), errorResponse(error));
  };
}

function send(reply: FastifyReply, { status, headers, body }: ErrorResponse): FastifyReply {
  return reply.code(status).headers(PROTECTED).headers(headers).send(body);
}

/** These hooks run before the handler of each request, whatever its address. */
export function addHooks(server: FastifyInstance, options: HostOptions): void {
  const { identify, telemetry } = options;
  const bodies = new JsonBodies();

  server.addHook('onRequest', (request, reply, done) => {
    const { requestId } = beginRequest(options, request.container, request.raw, reply.raw);
    request.id = requestId;
    reply.header('x-request-id', requestId).headers(PROTECTED);
    requireOneHost(request.raw);
    done();
  });

  if (identify)
    server.addHook('onRequest', ({ raw, container }) =>
      identifyCaller(identify, raw, container.resolve('IRequestContext')),
    );

  // Bodies are read before Fastify looks at their headers: it would close the connection of each that it refuses.
  server.addHook('preParsing', (request, _reply, payload, done) => {
    if (mayHaveBody(request.raw)) void readBody(bodies, request, (error) => done(error, payload));
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

async function readBody(
  bodies: JsonBodies,
  request: FastifyRequest,
  done: (error: Error | null) => void,
): Promise<void> {
  try {
    request.body = await bodies.read(request.raw);
  } catch (error) {
    return done(error as Error);
  }
  done(null);
}

export interface UserRoutesOptions {
  /** `false` mounts the plain route for creation, which validates in the handler and audits the request's id, as on Express. */
  readonly schema?: boolean;
  /** Called when a list fails after a part was sent; its connection is then closed. Does nothing by default. */
  readonly onStreamError?: (error: Error, request: FastifyRequest, reply: FastifyReply) => void;
}

const checkNewUser = bodyCheck(NewUser);

/**
 * The user routes, as a Fastify plugin; register the plugin `container` before it. The body and the response of the route
 * with a schema are processed by the compilers of the server it is registered on.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { containerPlugin } from '@ambit/fastify';
 * import { userRoutes } from '@ambit/service';
 * import { fastify, type FastifyInstance } from 'fastify';
 *
 * async function serve(container: IContainer): Promise<FastifyInstance> {
 *   const server = fastify();
 *   await server.register(containerPlugin, { container });
 *   await server.register(userRoutes, { prefix: '/api/users', schema: false });
 *   return server;
 * }
 * ```
 */
export async function userRoutes(server: FastifyInstance, options: UserRoutesOptions): Promise<void> {
  const { schema = true, onStreamError } = options;

  server.get('/', async (request, reply) => {
    const { container, query, method } = request;
    const services = { users: container.resolve('IUserRepository'), audit: container.resolve('IAuditLogger') };
    const list = await listUsers(services, query as Record<string, unknown>);
    if (list instanceof Readable) {
      reply.type(JSON_TYPE);
      if (onStreamError) list.once('error', (error) => onStreamError(error, request, reply));
      if (method === 'HEAD') await discard(list);
    }
    return list;
  });

  server.get<{ Params: { id: string } }>('/:id', ({ container, params }) =>
    getUser(container.resolve('IUserRepository'), params.id),
  );

  if (schema) {
    server.post<{ Body: NewUser }>(
      '/',
      { schema: { body: NewUser, response: { 201: CreatedUser } } },
      (request, reply) => {
        const { name, email } = request.body;
        return sendCreated(request, reply, { name, email }, {});
      },
    );
    return;
  }

  server.post('/', (request, reply) => {
    const { requestId } = request.container.resolve('IRequestContext');
    return sendCreated(request, reply, checkNewUser(request.body), { requestId });
  });
}

async function sendCreated(
  { container, headers: { 'idempotency-key': key } }: FastifyRequest,
  reply: FastifyReply,
  data: NewUser,
  extra: object,
): Promise<FastifyReply> {
  const { status, headers, body } = await createUser(container, key, data, extra);
  return reply.code(status).headers(headers).send(body);
}

export async function orderRoutes(server: FastifyInstance): Promise<void> {
  server.post<{ Body: NewOrder }>('/', { schema: { body: NewOrder } }, async (request, reply) => {
    const locked = lockOrder(request.container, request.headers['idempotency-key'], request.body);
    const scope = await request.startTransaction();
    try {
      const { status, headers, body, replayed } = await placeOrder(scope, locked, request.body);
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
export function compileSchemas(server: FastifyInstance): void {
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
