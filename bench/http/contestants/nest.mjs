import { chosen } from '../contestant.mjs';
import { contestants as express } from './express.mjs';

/** @type {import('../contestant.mjs').Contestants} */
export const contestants = {
  scope: {
    bare: {
      title: 'bare: singletons',
      async start() {
        const { ExpressAdapter } = await import('@nestjs/platform-express');
        const { asSingletons, injectedController, providersOf, startNest } = await import('../nest.mjs');

        return startNest(new ExpressAdapter(), {
          controllers: [injectedController()],
          providers: providersOf(asSingletons),
        });
      },
    },
    ambit: {
      title: 'ambit',
      package: '@ambit/nest',
      async start() {
        const { AmbitModule, InjectScoped } = await import('@ambit/nest');
        const { Get } = await import('@nestjs/common');
        const { ExpressAdapter } = await import('@nestjs/platform-express');
        const { ambitContainer } = await import('../containers.mjs');
        const { bodyOf } = await import('../graph.mjs');
        const { route, startNest } = await import('../nest.mjs');
        class Handler {
          get(users, audit, context) {
            return bodyOf(users, audit, context);
          }
        }
        ['users', 'audit', 'context'].forEach((key, index) => InjectScoped(key)(Handler.prototype, 'get', index));
        return startNest(new ExpressAdapter(), {
          imports: [AmbitModule.forRoot({ container: ambitContainer() })],
          controllers: [route(Handler, Get())],
        });
      },
    },
    nest: express.scope.nest,
    cls: {
      title: 'nestjs-cls, hand-written services, nothing disposed',
      package: 'nestjs-cls',
      async start() {
        const { Get, Inject } = await import('@nestjs/common');
        const { ExpressAdapter } = await import('@nestjs/platform-express');
        const { ClsModule, ClsService } = await import('nestjs-cls');
        const { Application, bodyOf, RequestScope } = await import('../graph.mjs');
        const { route, startNest } = await import('../nest.mjs');
        class Handler {
          constructor(cls) {
            this.cls = cls;
          }
          get() {
            const { users, audit, context } = this.cls.get('scope');
            return bodyOf(users, audit, context);
          }
        }
        Inject(ClsService)(Handler, undefined, 0);
        const application = new Application();
        const setup = (cls) => cls.set('scope', new RequestScope(application));
        return startNest(new ExpressAdapter(), {
          imports: [ClsModule.forRoot({ global: true, middleware: { mount: true, setup } })],
          controllers: [route(Handler, Get())],
        });
      },
    },
  },
  transaction: {
    bare: {
      title: 'no transaction',
      async start() {
        const { ExpressAdapter } = await import('@nestjs/platform-express');
        const { INSERT, instantPool } = await import('../instant-pool.mjs');
        const { post, route, startNest } = await import('../nest.mjs');
        const connection = await instantPool.getConnection();

        class Handler {
          async get() {
            const [order] = await connection.query(INSERT, [1]);
            return order;
          }
        }
        return startNest(new ExpressAdapter(), { controllers: [route(Handler, post)] });
      },
    },
    hand: {
      title: 'hand-written BEGIN and COMMIT',
      async start() {
        const { ExpressAdapter } = await import('@nestjs/platform-express');
        const { insertDirectly } = await import('../instant-pool.mjs');
        const { post, route, startNest } = await import('../nest.mjs');
        class Handler {
          get() {
            return insertDirectly();
          }
        }
        return startNest(new ExpressAdapter(), { controllers: [route(Handler, post)] });
      },
    },
    ambit: {
      title: 'ambit: @Transactional()',
      package: '@ambit/nest',
      async start() {
        const { AmbitModule, InjectScoped, Transactional } = await import('@ambit/nest');
        const { ExpressAdapter } = await import('@nestjs/platform-express');
        const { ambitContainer } = await import('../containers.mjs');
        const { INSERT } = await import('../instant-pool.mjs');
        const { post, route, startNest } = await import('../nest.mjs');
        class Handler {
          async get(connection) {
            const [order] = await connection.query(INSERT, [1]);
            return order;
          }
        }
        InjectScoped('IConnection')(Handler.prototype, 'get', 0);
        return startNest(new ExpressAdapter(), {
          imports: [AmbitModule.forRoot({ container: ambitContainer() })],
          controllers: [route(Handler, post, Transactional())],
        });
      },
    },
  },
};

export const contestant = chosen(import.meta.url, contestants);
