import { scopePerRequest } from 'awilix-express';
import express from 'express';
import { awilixContainer } from '../containers.mjs';
import { bodyOf } from '../graph.mjs';
import { listen } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'awilix-express',
  package: 'awilix-express',
  async start() {
    const server = express();
    server.use(scopePerRequest(awilixContainer()));
    server.get('/', ({ container }, res) =>
      res.json(bodyOf(container.resolve('users'), container.resolve('audit'), container.resolve('context'))),
    );
    return listen(server);
  },
};
