import type { FastifyInstance } from 'fastify';
import { mayHaveBody, readJsonBody } from '../../http/json-body.js';

/** Bodies are parsed before Fastify looks at them: it would close the connection over each that it refuses. */
export function readJsonBodies(server: FastifyInstance): void {
  server.addHook('preParsing', (request, _reply, payload, done) => {
    if (!mayHaveBody(request.raw)) return done(null, payload);
    readJsonBody(request.raw).then((body) => {
      request.body = body;
      done(null, payload);
    }, done);
  });
  server.removeAllContentTypeParsers();
  // The one that nearly all send is found at once.
  for (const type of ['application/json', '*']) {
    server.addContentTypeParser(type, (request, _payload, done) => done(null, request.body));
  }
}
