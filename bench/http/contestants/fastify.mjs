import { chosen } from '../contestant.mjs';

/** @type {import('../contestant.mjs').Contestants} */
export const contestants = {
  scope: {
    bare: {
      title: 'bare',
      async start() {
        const { default: fastify } = await import('fastify');
        const { Application, RequestScope, bodyOf } = await import('../graph.mjs');

        const server = fastify();
        const { users, audit, context } = new RequestScope(new Application());
        server.get('/', () => bodyOf(users, audit, context));
        return server.listen({ port: 0 });
      },
    },
    hand: {
      title: 'hand-written hooks',
      async start() {
        const { default: fastify } = await import('fastify');
        const { Application, RequestScope, bodyOf } = await import('../graph.mjs');

        const server = fastify();
        const app = new Application();
        server.decorateRequest('scope', null);
        server.addHook('onRequest', (request, reply, done) => {
          request.scope = new RequestScope(app);
          done();
        });
        server.addHook('onResponse', (request, reply, done) => {
          request.scope.dispose().catch(console.error);
          done();
        });
        server.get('/', ({ scope }) => bodyOf(scope.users, scope.audit, scope.context));
        return server.listen({ port: 0 });
      },
    },
    ambit: {
      title: 'ambit',
      package: '@ambit/fastify',
      async start() {
        const { containerPlugin } = await import('@ambit/fastify');
        const { default: fastify } = await import('fastify');
        const { ambitContainer } = await import('../containers.mjs');
        const { bodyOf } = await import('../graph.mjs');

        const server = fastify();
        await server.register(containerPlugin, { container: ambitContainer() });
        server.get('/', ({ container }) =>
          bodyOf(container.resolve('users'), container.resolve('audit'), container.resolve('context')),
        );
        return server.listen({ port: 0 });
      },
    },
    awilix: {
      title: '@fastify/awilix',
      package: '@fastify/awilix',
      async start() {
        const { fastifyAwilixPlugin } = await import('@fastify/awilix');
        const { default: fastify } = await import('fastify');
        const { awilixContainer } = await import('../containers.mjs');
        const { bodyOf } = await import('../graph.mjs');

        const server = fastify();
        await server.register(fastifyAwilixPlugin, { container: awilixContainer() });
        server.get('/', ({ diScope }) =>
          bodyOf(diScope.resolve('users'), diScope.resolve('audit'), diScope.resolve('context')),
        );
        return server.listen({ port: 0 });
      },
    },
    nest: {
      title: 'NestJS, request scope',
      package: '@nestjs/core',
      async start() {
        const { FastifyAdapter } = await import('@nestjs/platform-fastify');
        const { startNest } = await import('../nest.mjs');

        return startNest(new FastifyAdapter());
      },
    },
  },
  transaction: {
    bare: {
      title: 'no transaction',
      async start() {
        const { default: fastify } = await import('fastify');
        const { INSERT, instantPool } = await import('../instant-pool.mjs');

        const server = fastify();
        const connection = await instantPool.getConnection();
        server.post('/', async () => (await connection.query(INSERT, [1]))[0]);
        return server.listen({ port: 0 });
      },
    },
    hand: {
      title: 'hand-written BEGIN and COMMIT',
      async start() {
        const { default: fastify } = await import('fastify');
        const { insertDirectly } = await import('../instant-pool.mjs');

        const server = fastify();
        server.post('/', () => insertDirectly());
        return server.listen({ port: 0 });
      },
    },
    ambit: {
      title: 'ambit: startTransaction, commitTransaction',
      package: '@ambit/fastify',
      async start() {
        const { containerPlugin, transactionPlugin } = await import('@ambit/fastify');
        const { default: fastify } = await import('fastify');
        const { ambitContainer } = await import('../containers.mjs');
        const { INSERT } = await import('../instant-pool.mjs');

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
    },
  },
};

export const contestant = chosen(import.meta.url, contestants);
