import express from 'express';
import { INSERT, instantPool } from '../instant-pool.mjs';
import { listen } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written BEGIN and COMMIT',
  async start() {
    const server = express();
    server.post('/', async (req, res) => {
      const connection = await instantPool.getConnection();
      let order;
      try {
        await connection.beginTransaction();
        [order] = await connection.query(INSERT, [1]);
        await connection.commit();
      } catch (error) {
        await connection.rollback();
        throw error;
      } finally {
        connection.release();
      }
      res.json(order);
    });
    return listen(server);
  },
};
