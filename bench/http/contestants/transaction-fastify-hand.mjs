import fastify from 'fastify';
import { insertInTransaction } from '../instant-pool.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written BEGIN and COMMIT',
  async start() {
    const server = fastify();
    server.post('/', () => insertInTransaction());
    return server.listen({ port: 0 });
  },
};
