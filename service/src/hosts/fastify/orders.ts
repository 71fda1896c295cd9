import type { FastifyInstance } from 'fastify';
import { NewOrder } from '../../orders/order.js';
import { idempotentOrder, lockKey, placeOrder } from '../../orders/use-cases.js';

export async function orderRoutes(server: FastifyInstance): Promise<void> {
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
