import { containerMiddleware, withTransaction } from '@ambit/express';
import express from 'express';
import { ambitContainer } from '../containers.mjs';
import { INSERT } from '../instant-pool.mjs';
import { listen } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit: withTransaction',
  package: '@ambit/express',
  async start() {
    const server = express();
    server.use(containerMiddleware(ambitContainer()));
    server.post('/', withTransaction(), async (req, res) => {
      const [order] = await req.transactionScope.resolve('IConnection').query(INSERT, [1]);
      res.json(order);
    });
    return listen(server);
  },
};
