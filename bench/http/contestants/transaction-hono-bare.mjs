import { Hono } from 'hono';
import { INSERT, instantPool } from '../instant-pool.mjs';
import { listenOnHono } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'no transaction',
  async start() {
    const app = new Hono();
    const connection = await instantPool.getConnection();
    app.post('/', async (c) => c.json((await connection.query(INSERT, [1]))[0]));
    return listenOnHono(app);
  },
};
