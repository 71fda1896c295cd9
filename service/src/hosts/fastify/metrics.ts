import type { FastifyInstance } from 'fastify';
import { METRICS_PATH, METRICS_TYPE } from '../../http/metrics.js';

export function metricsRoutes(server: FastifyInstance, metrics: () => Promise<string>): void {
  server.get(METRICS_PATH, async (_request, reply) => reply.type(METRICS_TYPE).send(await metrics()));
}
