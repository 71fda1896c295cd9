import type { FastifyReply } from 'fastify';
import type { Answer } from '../../idempotency/once.js';

export function sendAnswer(reply: FastifyReply, { status, body, replayed }: Answer<unknown>): FastifyReply {
  if (replayed) reply.header('idempotency-replayed', 'true');
  return reply.code(status).send(body);
}
