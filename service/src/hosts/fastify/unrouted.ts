import type { FastifyInstance } from 'fastify';
import { unrouted } from '../../http/endpoints.js';

/** Before Fastify looks at what the request says of its body, and after we did. */
export function refuseUnrouted(server: FastifyInstance): void {
  server.addHook('preParsing', (request, _reply, _payload, done) => done(request.is404 ? unrouted(request.url) : null));
}
