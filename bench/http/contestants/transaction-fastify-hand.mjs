import fastify from 'fastify';
import { insertByHand } from '../instant-pool.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written BEGIN and COMMIT',
  async start() {
    const server = fastify();
    server.post('/', () => insertByHand());
    return server.listen({ port: 0 });
  },
};
