import { fastifyAwilixPlugin } from '@fastify/awilix';
import fastify from 'fastify';
import { awilixContainer } from '../containers.mjs';
import { bodyOf } from '../graph.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: '@fastify/awilix',
  package: '@fastify/awilix',
  async start() {
    const server = fastify();
    await server.register(fastifyAwilixPlugin, { container: awilixContainer() });
    server.get('/', ({ diScope }) =>
      bodyOf(diScope.resolve('users'), diScope.resolve('audit'), diScope.resolve('context')),
    );
    return server.listen({ port: 0 });
  },
};
