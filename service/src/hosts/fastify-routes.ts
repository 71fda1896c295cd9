import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import { Compile } from 'typebox/compile';
import { bodyCheck } from '../http/body.js';
import { JSON_TYPE } from '../http/response.js';
import { lockOrder, NewOrder, placeOrder } from '../orders/orders.js';
import { CreatedUser, createUser, discard, getUser, listUsers, NewUser } from '../users/users.js';

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

  const create = async ({ container, headers }: FastifyRequest, reply: FastifyReply, data: NewUser, extra: object) => {
    const response = await createUser(container, headers['idempotency-key'], data, extra);
    return reply.code(response.status).headers(response.headers).send(response.body);
  };
  if (schema)
    server.post<{ Body: NewUser }>(
      '/',
      { schema: { body: NewUser, response: { 201: CreatedUser } } },
      (request, reply) => {
        const { name, email } = request.body;
        return create(request, reply, { name, email }, {});
      },
    );
  else
    server.post('/', (request, reply) => {
      const { requestId } = request.container.resolve('IRequestContext');
      return create(request, reply, checkNewUser(request.body), { requestId });
    });
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

/** Fastify's own serializer would write the required fields first, and check nothing. */
export function validatingSerializer({ schema }: { readonly schema: unknown }): (data: unknown) => string {
  const validator = Compile(schema as TObject);
  const fields = Object.keys((schema as TObject).properties);
  return (data) => {
    if (!validator.Check(data)) throw new Error('The response does not match its schema');
    const body: Record<string, unknown> = {};
    for (const field of fields) body[field] = (data as Record<string, unknown>)[field];
    return JSON.stringify(body);
  };
}
