import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import fastify from 'fastify';
import { ambitContainer } from '../containers.mjs';
import { INSERT } from '../instant-pool.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit: startTransaction, commitTransaction',
  package: '@ambit/fastify',
  async start() {
    const server = fastify();
    await server.register(containerPlugin, { container: ambitContainer() });
    await server.register(transactionPlugin);
    server.post('/', async (request) => {
      const scope = await request.startTransaction();
      const [order] = await scope.resolve('IConnection').query(INSERT, [1]);
      await request.commitTransaction();
      return order;
    });
    return server.listen({ port: 0 });
  },
};
