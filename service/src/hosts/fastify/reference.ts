import type { FastifyInstance } from 'fastify';
import { referenceAnswer } from '../../api/reference.js';
import { REFERENCE_PATHS } from '../../api/reference-paths.js';

export async function referenceRoutes(server: FastifyInstance): Promise<void> {
  for (const path of REFERENCE_PATHS) {
    server.get(path, (request, reply) => {
      const { status, headers, body } = referenceAnswer(path, request.headers);
      return reply.code(status).headers(headers).send(body);
    });
  }
}
