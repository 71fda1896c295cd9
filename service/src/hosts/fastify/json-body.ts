import type { FastifyInstance } from 'fastify';
import { unrouted } from '../../http/endpoints.js';
import { mayHaveBody, readJsonBody } from '../../http/json-body.js';

/**
 * Bodies are parsed, and an address without a route is refused, before Fastify looks at what the request says of its
 * body: it would close the connection over each that it refuses.
 */
export function readJsonBodies(server: FastifyInstance): void {
  server.addHook('preParsing', (request, _reply, payload, done) => {
    const goOn = (): void => done(request.is404 ? unrouted(request.url) : null, payload);
    if (!mayHaveBody(request.raw)) return goOn();
    readJsonBody(request.raw).then((body) => {
      request.body = body;
      goOn();
    }, done);
  });
  server.removeAllContentTypeParsers();
  // The one that nearly all send is found at once.
  for (const type of ['application/json', '*']) {
    server.addContentTypeParser(type, (request, _payload, done) => done(null, request.body));
  }
}
