import { containerPlugin } from '@ambit/fastify';
import fastify from 'fastify';
import { ambitContainer } from '../containers.mjs';
import { bodyOf } from '../graph.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit',
  package: '@ambit/fastify',
  async start() {
    const server = fastify();
    await server.register(containerPlugin, { container: ambitContainer() });
    server.get('/', ({ container }) =>
      bodyOf(container.resolve('users'), container.resolve('audit'), container.resolve('context')),
    );
    return server.listen({ port: 0 });
  },
};
