import type { FastifyInstance } from 'fastify';
import { unrouted } from '../../http/endpoints.js';
import type { HostOptions } from '../host.js';

/** Before Fastify looks at what the request says of its body, and after we did. */
export function refuseUnrouted(server: FastifyInstance, { telemetry }: HostOptions): void {
  server.addHook('preParsing', (request, _reply, _payload, done) =>
    done(request.is404 ? unrouted(request.url, telemetry) : null),
  );
}
