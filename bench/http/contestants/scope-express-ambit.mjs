import { containerMiddleware } from '@ambit/express';
import express from 'express';
import { ambitContainer } from '../containers.mjs';
import { bodyOf } from '../graph.mjs';
import { listen } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit',
  package: '@ambit/express',
  async start() {
    const server = express();
    server.use(containerMiddleware(ambitContainer()));
    server.get('/', ({ container }, res) =>
      res.json(bodyOf(container.resolve('users'), container.resolve('audit'), container.resolve('context'))),
    );
    return listen(server);
  },
};
