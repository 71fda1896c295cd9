import type { FastifyInstance, FastifyRequest } from 'fastify';
import { mayHaveBody, readJsonBody } from '../../http/json-body.js';

/** Bodies are parsed before Fastify looks at them: it would close the connection over each that it refuses. */
export function readJsonBodies(server: FastifyInstance): void {
  server.addHook('preParsing', (request, _reply, payload, done) => {
    if (mayHaveBody(request.raw)) void readBody(request, (error) => done(error, payload));
    else done(null, payload);
  });
  server.removeAllContentTypeParsers();
  // The one that nearly all send is found at once.
  for (const type of ['application/json', '*']) {
    server.addContentTypeParser(type, (request, _payload, done) => done(null, request.body));
  }
}

async function readBody(request: FastifyRequest, done: (error: Error | null) => void): Promise<void> {
  try {
    request.body = await readJsonBody(request.raw);
  } catch (error) {
    return done(error as Error);
  }
  done(null);
}
