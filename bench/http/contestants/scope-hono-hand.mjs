import { Hono } from 'hono';
import { Application, RequestScope, bodyOf } from '../graph.mjs';
import { listenOnHono } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written middleware',
  async start() {
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
};
