import fastify from 'fastify';
import { Application, RequestScope, bodyOf } from '../graph.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'bare',
  async start() {
    const server = fastify();
    const { users, audit, context } = new RequestScope(new Application());
    server.get('/', () => bodyOf(users, audit, context));
    return server.listen({ port: 0 });
  },
};
