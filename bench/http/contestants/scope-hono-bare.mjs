import { Hono } from 'hono';
import { Application, RequestScope, bodyOf } from '../graph.mjs';
import { listenOnHono } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'bare',
  async start() {
    const app = new Hono();
    const { users, audit, context } = new RequestScope(new Application());
    app.get('/', (c) => c.json(bodyOf(users, audit, context)));
    return listenOnHono(app);
  },
};
