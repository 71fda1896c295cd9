import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import { Compile } from 'typebox/compile';
import { JSON_TYPE } from '../http/response.js';
import { lockOrder, NewOrder, placeOrder } from '../orders/orders.js';
import { CreatedUser, createUser, discard, getUser, listUsers, NewUser } from '../users/users.js';

/** `onStreamError` is called when a list fails after a part was sent; its connection is then closed. */
export async function userRoutes(
  server: FastifyInstance,
  onStreamError: (error: Error, request: FastifyRequest, reply: FastifyReply) => void,
): Promise<void> {
  server.get('/', async (request, reply) => {
    const { container, query, method } = request;
    const services = { users: container.resolve('IUserRepository'), audit: container.resolve('IAuditLogger') };
    const list = await listUsers(services, query as Record<string, unknown>);
    if (list instanceof Readable) {
      reply.type(JSON_TYPE);
      list.once('error', (error) => onStreamError(error, request, reply));
      if (method === 'HEAD') await discard(list);
    }
    return list;
  });

  server.get<{ Params: { id: string } }>('/:id', ({ container, params }) =>
    getUser(container.resolve('IUserRepository'), params.id),
  );

  const schema = { body: NewUser, response: { 201: CreatedUser } };
  server.post<{ Body: NewUser }>(
    '/',
    { schema },
    async ({ container, headers: sent, body: { name, email } }, reply) => {
      const { status, headers, body } = await createUser(container, sent['idempotency-key'], { name, email });
      return reply.code(status).headers(headers).send(body);
    },
  );
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
