import express from 'express';
import { INSERT, instantPool } from '../instant-pool.mjs';
import { listen } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'no transaction',
  async start() {
    const server = express();
    const connection = await instantPool.getConnection();
    server.post('/', async (req, res) => {
      res.json((await connection.query(INSERT, [1]))[0]);
    });
    return listen(server);
  },
};
