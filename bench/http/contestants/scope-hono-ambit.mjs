import { containerMiddleware } from '@ambit/hono';
import { Hono } from 'hono';
import { ambitContainer } from '../containers.mjs';
import { bodyOf } from '../graph.mjs';
import { listenOnHono } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit',
  package: '@ambit/hono',
  async start() {
    const app = new Hono();
    app.use(containerMiddleware(ambitContainer()));
    app.get('/', (c) => {
      const scope = c.get('container');
      return c.json(bodyOf(scope.resolve('users'), scope.resolve('audit'), scope.resolve('context')));
    });
    return listenOnHono(app);
  },
};
