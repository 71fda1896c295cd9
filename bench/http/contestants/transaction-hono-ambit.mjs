import { containerMiddleware, requireTransactionScope, withTransaction } from '@ambit/hono';
import { Hono } from 'hono';
import { ambitContainer } from '../containers.mjs';
import { INSERT } from '../instant-pool.mjs';
import { listenOnHono } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit: withTransaction',
  package: '@ambit/hono',
  async start() {
    const app = new Hono();
    app.use(containerMiddleware(ambitContainer()));
    app.post('/', withTransaction(), async (c) => {
      const [order] = await requireTransactionScope(c).resolve('IConnection').query(INSERT, [1]);
      return c.json(order);
    });
    return listenOnHono(app);
  },
};
