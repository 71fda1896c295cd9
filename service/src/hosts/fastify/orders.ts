import type { FastifyInstance } from 'fastify';
import { readIdempotencyKey } from '../../http/idempotency-key.js';
import { NewOrder } from '../../orders/order.js';
import { holdKey, onceForOrder, placeOrder } from '../../orders/use-cases.js';
import { sendAnswer } from './send-answer.js';

export async function orderRoutes(server: FastifyInstance): Promise<void> {
  server.post<{ Body: NewOrder }>('/', { schema: { body: NewOrder } }, async (request, reply) => {
    const asked = onceForOrder(readIdempotencyKey(request.headers['idempotency-key']), request.body);
    holdKey(request.container, asked);
    const scope = await request.startTransaction();
    try {
      const answer = await placeOrder(scope, asked, request.body);
      if (!answer.replayed) await scope.resolve('IAuditLogger').log('order_created', { orderId: answer.body.id });
      await request.commitTransaction();
      return await sendAnswer(reply, answer);
    } catch (error) {
      await request.rollbackTransaction();
      throw error;
    }
  });
}
