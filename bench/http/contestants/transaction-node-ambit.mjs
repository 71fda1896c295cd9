import { createServer } from 'node:http';
import { createHandler, withTransaction } from '@ambit/http';
import { ambitContainer } from '../containers.mjs';
import { INSERT } from '../instant-pool.mjs';
import { listen, sendJson } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit: withTransaction',
  package: '@ambit/http',
  async start() {
    const insert = withTransaction(async (req, res, scope) => {
      const [order] = await scope.resolve('IConnection').query(INSERT, [1]);
      sendJson(res, order);
    });
    return listen(createServer(createHandler(ambitContainer(), insert)));
  },
};
