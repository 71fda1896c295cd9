import { once } from 'node:events';
import { chosen } from '../contestant.mjs';

/** @type {import('../contestant.mjs').Contestants} */
export const contestants = {
  scope: {
    bare: {
      title: 'bare',
      async start() {
        const { default: express } = await import('express');
        const { Application, RequestScope, bodyOf } = await import('../graph.mjs');

        const server = express();
        const { users, audit, context } = new RequestScope(new Application());
        server.get('/', (req, res) => res.json(bodyOf(users, audit, context)));
        return listen(server);
      },
    },
    hand: {
      title: 'hand-written middleware',
      async start() {
        const { default: express } = await import('express');
        const { Application, RequestScope, bodyOf } = await import('../graph.mjs');

        const server = express();
        const app = new Application();
        server.use((req, res, next) => {
          req.scope = new RequestScope(app);
          const end = () => {
            req.scope.dispose().catch(console.error);
          };
          res.once('finish', end);
          res.once('close', () => {
            if (!res.writableEnded) end();
          });
          next();
        });
        server.get('/', ({ scope }, res) => res.json(bodyOf(scope.users, scope.audit, scope.context)));
        return listen(server);
      },
    },
    ambit: {
      title: 'ambit',
      package: '@ambit/express',
      async start() {
        const { containerMiddleware } = await import('@ambit/express');
        const { default: express } = await import('express');
        const { ambitContainer } = await import('../containers.mjs');
        const { bodyOf } = await import('../graph.mjs');

        const server = express();
        server.use(containerMiddleware(ambitContainer()));
        server.get('/', ({ container }, res) =>
          res.json(bodyOf(container.resolve('users'), container.resolve('audit'), container.resolve('context'))),
        );
        return listen(server);
      },
    },
    awilix: {
      title: 'awilix-express',
      package: 'awilix-express',
      async start() {
        const { scopePerRequest } = await import('awilix-express');
        const { default: express } = await import('express');
        const { awilixContainer } = await import('../containers.mjs');
        const { bodyOf } = await import('../graph.mjs');

        const server = express();
        server.use(scopePerRequest(awilixContainer()));
        server.get('/', ({ container }, res) =>
          res.json(bodyOf(container.resolve('users'), container.resolve('audit'), container.resolve('context'))),
        );
        return listen(server);
      },
    },
    nest: {
      title: 'NestJS, request scope',
      package: '@nestjs/core',
      async start() {
        const { ExpressAdapter } = await import('@nestjs/platform-express');
        const { startNest } = await import('../nest.mjs');

        return startNest(new ExpressAdapter());
      },
    },
  },
  transaction: {
    bare: {
      title: 'no transaction',
      async start() {
        const { default: express } = await import('express');
        const { INSERT, instantPool } = await import('../instant-pool.mjs');

        const server = express();
        const connection = await instantPool.getConnection();
        server.post('/', async (req, res) => {
          res.json((await connection.query(INSERT, [1]))[0]);
        });
        return listen(server);
      },
    },
    hand: {
      title: 'hand-written BEGIN and COMMIT',
      async start() {
        const { default: express } = await import('express');
        const { insertDirectly } = await import('../instant-pool.mjs');

        const server = express();
        server.post('/', async (req, res) => {
          res.json(await insertDirectly());
        });
        return listen(server);
      },
    },
    ambit: {
      title: 'ambit: withTransaction',
      package: '@ambit/express',
      async start() {
        const { containerMiddleware, withTransaction } = await import('@ambit/express');
        const { default: express } = await import('express');
        const { ambitContainer } = await import('../containers.mjs');
        const { INSERT } = await import('../instant-pool.mjs');

        const server = express();
        server.use(containerMiddleware(ambitContainer()));
        server.post('/', withTransaction(), async (req, res) => {
          const [order] = await req.transactionScope.resolve('IConnection').query(INSERT, [1]);
          res.json(order);
        });
        return listen(server);
      },
    },
  },
};

export const contestant = chosen(import.meta.url, contestants);

/** Gives the address of an Express application that listens on any free port. */
async function listen(app) {
  const server = app.listen(0);
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}`;
}
