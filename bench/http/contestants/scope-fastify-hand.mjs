import fastify from 'fastify';
import { Application, RequestScope, bodyOf } from '../graph.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written hooks',
  async start() {
    const server = fastify();
    const app = new Application();
    server.decorateRequest('scope', null);
    server.addHook('onRequest', (request, reply, done) => {
      request.scope = new RequestScope(app);
      done();
    });
    server.addHook('onResponse', (request, reply, done) => {
      request.scope.dispose().catch(console.error);
      done();
    });
    server.get('/', ({ scope }) => bodyOf(scope.users, scope.audit, scope.context));
    return server.listen({ port: 0 });
  },
};
