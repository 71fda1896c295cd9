import fastify from 'fastify';
import { insertDirectly } from '../instant-pool.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written BEGIN and COMMIT',
  async start() {
    const server = fastify();
    server.post('/', () => insertDirectly());
    return server.listen({ port: 0 });
  },
};
