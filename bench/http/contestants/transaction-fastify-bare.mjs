import fastify from 'fastify';
import { INSERT, instantPool } from '../instant-pool.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'no transaction',
  async start() {
    const server = fastify();
    const connection = await instantPool.getConnection();
    server.post('/', async () => (await connection.query(INSERT, [1]))[0]);
    return server.listen({ port: 0 });
  },
};
