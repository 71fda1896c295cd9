import { chosen } from '../contestant.mjs';

/** @type {import('../contestant.mjs').Contestants} */
export const contestants = {
  scope: {
    bare: {
      title: 'bare',
      async start() {
        const { createServer } = await import('node:http');
        const { Application, RequestScope, bodyOf } = await import('../graph.mjs');
        const { listen, sendJson } = await import('../listen.mjs');

        const { users, audit, context } = new RequestScope(new Application());
        return listen(createServer((req, res) => sendJson(res, bodyOf(users, audit, context))));
      },
    },
    hand: {
      title: 'hand-written listeners',
      async start() {
        const { createServer } = await import('node:http');
        const { Application, RequestScope, bodyOf } = await import('../graph.mjs');
        const { listen, sendJson } = await import('../listen.mjs');

        const app = new Application();
        const server = createServer((req, res) => {
          const scope = new RequestScope(app);
          const end = () => {
            scope.dispose().catch(console.error);
          };
          res.once('finish', end);
          res.once('close', () => {
            if (!res.writableEnded) end();
          });
          sendJson(res, bodyOf(scope.users, scope.audit, scope.context));
        });
        return listen(server);
      },
    },
    ambit: {
      title: 'ambit',
      package: '@ambit/http',
      async start() {
        const { createServer } = await import('node:http');
        const { createHandler } = await import('@ambit/http');
        const { ambitContainer } = await import('../containers.mjs');
        const { bodyOf } = await import('../graph.mjs');
        const { listen, sendJson } = await import('../listen.mjs');

        const handler = createHandler(ambitContainer(), (req, res, scope) =>
          sendJson(res, bodyOf(scope.resolve('users'), scope.resolve('audit'), scope.resolve('context'))),
        );
        return listen(createServer(handler));
      },
    },
  },
  transaction: {
    bare: {
      title: 'no transaction',
      async start() {
        const { createServer } = await import('node:http');
        const { INSERT, instantPool } = await import('../instant-pool.mjs');
        const { listen, sendJson } = await import('../listen.mjs');

        const connection = await instantPool.getConnection();
        const insert = async (res) => sendJson(res, (await connection.query(INSERT, [1]))[0]);
        return listen(createServer((req, res) => void insert(res)));
      },
    },
    hand: {
      title: 'hand-written BEGIN and COMMIT',
      async start() {
        const { createServer } = await import('node:http');
        const { insertDirectly } = await import('../instant-pool.mjs');
        const { listen, sendJson } = await import('../listen.mjs');

        return listen(createServer((req, res) => void insertDirectly().then((order) => sendJson(res, order))));
      },
    },
    ambit: {
      title: 'ambit: withTransaction',
      package: '@ambit/http',
      async start() {
        const { createServer } = await import('node:http');
        const { createHandler, withTransaction } = await import('@ambit/http');
        const { ambitContainer } = await import('../containers.mjs');
        const { INSERT } = await import('../instant-pool.mjs');
        const { listen, sendJson } = await import('../listen.mjs');

        const insert = withTransaction(async (req, res, scope) => {
          const [order] = await scope.resolve('IConnection').query(INSERT, [1]);
          sendJson(res, order);
        });
        return listen(createServer(createHandler(ambitContainer(), insert)));
      },
    },
  },
};

export const contestant = chosen(import.meta.url, contestants);
