import type { FastifyInstance } from 'fastify';
import { refuseWithoutHost } from '../../http/request-address.js';
import { logRequest } from '../../http/request-log.js';
import type { HostOptions } from '../host.js';

/** What every request begins with, whatever its address: an id, a line in the log, and who asks. */
export function requestHead(server: FastifyInstance, { logger, identify, telemetry }: HostOptions): void {
  server.addHook('onRequest', (request, reply, done) => {
    const context = request.container.resolve('IRequestContext');
    const { requestId } = context;
    request.id = requestId;
    reply.header('x-request-id', requestId);
    const trace = telemetry?.traceIdsOf(request.container);
    if (trace) context.trace = trace;
    logRequest(logger, context, request.raw, reply.raw);
    refuseWithoutHost(request.raw);
    done();
  });
  if (!identify) return;
  server.addHook('onRequest', async (request) => {
    const userId = await identify(request.raw);
    if (userId !== undefined) request.container.resolve('IRequestContext').setUserId(userId);
  });
}
