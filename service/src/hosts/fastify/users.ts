import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bodyCheck } from '../../http/request.js';
import { JSON_TYPE } from '../../http/response.js';
import { CreatedUser, createUser, discard, getUser, listUsers, NewUser } from '../../users/users.js';

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
        return create(request, reply, { name, email }, {});
      },
    );
    return;
  }

  server.post('/', (request, reply) => {
    const { requestId } = request.container.resolve('IRequestContext');
    return create(request, reply, checkNewUser(request.body), { requestId });
  });
}

async function create(
  { container, headers: { 'idempotency-key': key } }: FastifyRequest,
  reply: FastifyReply,
  data: NewUser,
  extra: object,
): Promise<FastifyReply> {
  const { status, headers, body } = await createUser(container, key, data, extra);
  return reply.code(status).headers(headers).send(body);
}
