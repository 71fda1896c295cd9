import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readIdempotencyKey } from '../../http/idempotency-key.js';
import { discard, JSON_TYPE } from '../../http/json-stream.js';
import { readPage } from '../../http/page.js';
import { bodyCheck } from '../../http/validate.js';
import { listUsers } from '../../users/list-users.js';
import { createUser, createUserOnce, getUser, onceForUser } from '../../users/use-cases.js';
import { CreatedUser, NewUser } from '../../users/user.js';
import { sendAnswer } from './send-answer.js';

export interface UserRoutesOptions {
  /** `false` mounts the plain route for creation, which checks by hand and audits the request's id, as on Express. */
  readonly schema?: boolean;
  /** Called when a list fails of which a part was sent: its connection is then cut. Nothing by default. */
  readonly onStreamError?: (error: Error, request: FastifyRequest, reply: FastifyReply) => void;
}

const checkNewUser = bodyCheck(NewUser);

/**
 * The users, as a Fastify plugin that wants the `container` plugin before it. The route with a schema is checked, and its
 * answer written, by the compilers of the server it is registered on.
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
    const deps = { users: container.resolve('IUserRepository'), audit: container.resolve('IAuditLogger') };
    const list = await listUsers(deps, readPage(query as Record<string, unknown>));
    if (list instanceof Readable) {
      reply.type(JSON_TYPE);
      if (onStreamError) list.once('error', (error) => onStreamError(error, request, reply));
      if (method === 'HEAD') await discard(list);
    }
    return list;
  });

  server.get<{ Params: { id: string } }>('/:id', ({ container, params }) =>
    getUser({ users: container.resolve('IUserRepository') }, params.id),
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
  { container, headers }: FastifyRequest,
  reply: FastifyReply,
  data: NewUser,
  extra: object,
): Promise<FastifyReply> {
  const asked = onceForUser(readIdempotencyKey(headers['idempotency-key']), data);
  if (asked) return sendAnswer(reply, await createUserOnce(container, asked, data, extra));
  const deps = { users: container.resolve('IUserRepository'), audit: container.resolve('IAuditLogger') };
  return reply.code(201).send(await createUser(deps, data, extra));
}
