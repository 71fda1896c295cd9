import { chosen } from '../contestant.mjs';

/** @type {import('../contestant.mjs').Contestants} */
export const contestants = {
  scope: {
    bare: {
      title: 'bare',
      async start() {
        const { Hono } = await import('hono');
        const { Application, RequestScope, bodyOf } = await import('../graph.mjs');
        const { listenOnHono } = await import('../listen.mjs');

        const app = new Hono();
        const { users, audit, context } = new RequestScope(new Application());
        app.get('/', (c) => c.json(bodyOf(users, audit, context)));
        return listenOnHono(app);
      },
    },
    hand: {
      title: 'hand-written middleware',
      async start() {
        const { Hono } = await import('hono');
        const { Application, RequestScope, bodyOf } = await import('../graph.mjs');
        const { listenOnHono } = await import('../listen.mjs');

        const app = new Hono();
        const application = new Application();
        app.use(async (c, next) => {
          const scope = new RequestScope(application);
          c.set('scope', scope);
          try {
            await next();
          } finally {
            scope.dispose().catch(console.error);
          }
        });
        app.get('/', (c) => {
          const { users, audit, context } = c.get('scope');
          return c.json(bodyOf(users, audit, context));
        });
        return listenOnHono(app);
      },
    },
    ambit: {
      title: 'ambit',
      package: '@ambit/hono',
      async start() {
        const { containerMiddleware } = await import('@ambit/hono');
        const { Hono } = await import('hono');
        const { ambitContainer } = await import('../containers.mjs');
        const { bodyOf } = await import('../graph.mjs');
        const { listenOnHono } = await import('../listen.mjs');

        const app = new Hono();
        app.use(containerMiddleware(ambitContainer()));
        app.get('/', (c) => {
          const scope = c.get('container');
          return c.json(bodyOf(scope.resolve('users'), scope.resolve('audit'), scope.resolve('context')));
        });
        return listenOnHono(app);
      },
    },
  },
  transaction: {
    bare: {
      title: 'no transaction',
      async start() {
        const { Hono } = await import('hono');
        const { INSERT, instantPool } = await import('../instant-pool.mjs');
        const { listenOnHono } = await import('../listen.mjs');

        const app = new Hono();
        const connection = await instantPool.getConnection();
        app.post('/', async (c) => c.json((await connection.query(INSERT, [1]))[0]));
        return listenOnHono(app);
      },
    },
    hand: {
      title: 'hand-written BEGIN and COMMIT',
      async start() {
        const { Hono } = await import('hono');
        const { insertDirectly } = await import('../instant-pool.mjs');
        const { listenOnHono } = await import('../listen.mjs');

        const app = new Hono();
        app.post('/', async (c) => c.json(await insertDirectly()));
        return listenOnHono(app);
      },
    },
    ambit: {
      title: 'ambit: withTransaction',
      package: '@ambit/hono',
      async start() {
        const { containerMiddleware, requireTransactionScope, withTransaction } = await import('@ambit/hono');
        const { Hono } = await import('hono');
        const { ambitContainer } = await import('../containers.mjs');
        const { INSERT } = await import('../instant-pool.mjs');
        const { listenOnHono } = await import('../listen.mjs');

        const app = new Hono();
        app.use(containerMiddleware(ambitContainer()));
        app.post('/', withTransaction(), async (c) => {
          const [order] = await requireTransactionScope(c).resolve('IConnection').query(INSERT, [1]);
          return c.json(order);
        });
        return listenOnHono(app);
      },
    },
  },
};

export const contestant = chosen(import.meta.url, contestants);
