import type { FastifyInstance, FastifyRequest } from 'fastify';
import { readJsonBody } from '../../http/json-body.js';
import { beginRequest, identifyCaller, mayHaveBody, requireHostHeader } from '../../http/request-head.js';
import { unrouted } from '../../http/unrouted.js';
import type { HostOptions } from '../host.js';

/** What runs before the handler of each request, whatever its address. */
export function addHooks(server: FastifyInstance, options: HostOptions): void {
  const { identify, telemetry } = options;

  server.addHook('onRequest', (request, reply, done) => {
    const { requestId } = beginRequest(options, request.container, request.raw, reply.raw);
    request.id = requestId;
    reply.header('x-request-id', requestId);
    requireHostHeader(request.raw);
    done();
  });

  if (identify)
    server.addHook('onRequest', ({ raw, container }) =>
      identifyCaller(identify, raw, container.resolve('IRequestContext')),
    );

  // Bodies are read before Fastify looks at their headers: it would close the connection of each that it refuses.
  server.addHook('preParsing', (request, _reply, payload, done) => {
    if (mayHaveBody(request.raw)) void readBody(request, (error) => done(error, payload));
    else done(null, payload);
  });
  server.addHook('preParsing', (request, _reply, _payload, done) =>
    done(request.is404 ? unrouted(request.url, telemetry) : null),
  );
  server.removeAllContentTypeParsers();
  // The most frequent type is found at once, `*` only after a search.
  for (const type of ['application/json', '*'])
    server.addContentTypeParser(type, (request, _payload, done) => done(null, request.body));
}

async function readBody(request: FastifyRequest, done: (error: Error | null) => void): Promise<void> {
  try {
    request.body = await readJsonBody(request.raw);
  } catch (error) {
    return done(error as Error);
  }
  done(null);
}
