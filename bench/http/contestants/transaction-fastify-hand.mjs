import fastify from 'fastify';
import { INSERT, instantPool } from '../instant-pool.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written BEGIN and COMMIT',
  async start() {
    const server = fastify();
    server.post('/', async () => {
      const connection = await instantPool.getConnection();
      try {
        await connection.beginTransaction();
        const [order] = await connection.query(INSERT, [1]);
        await connection.commit();
        return order;
      } catch (error) {
        await connection.rollback();
        throw error;
      } finally {
        connection.release();
      }
    });
    return server.listen({ port: 0 });
  },
};
