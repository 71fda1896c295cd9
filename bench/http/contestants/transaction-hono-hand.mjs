import { Hono } from 'hono';
import { insertDirectly } from '../instant-pool.mjs';
import { listenOnHono } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written BEGIN and COMMIT',
  async start() {
    const app = new Hono();
    app.post('/', async (c) => c.json(await insertDirectly()));
    return listenOnHono(app);
  },
};
