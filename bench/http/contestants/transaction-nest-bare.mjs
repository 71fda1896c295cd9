import { ExpressAdapter } from '@nestjs/platform-express';
import { INSERT, instantPool } from '../instant-pool.mjs';
import { post, route, startNest } from '../nest.mjs';

const connection = await instantPool.getConnection();

class Handler {
  async get() {
    const [order] = await connection.query(INSERT, [1]);
    return order;
  }
}

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'no transaction',
  start: () => startNest(new ExpressAdapter(), { controllers: [route(Handler, post)] }),
};
