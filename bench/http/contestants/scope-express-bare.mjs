import express from 'express';
import { Application, RequestScope, bodyOf } from '../graph.mjs';
import { listen } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'bare',
  async start() {
    const server = express();
    const { users, audit, context } = new RequestScope(new Application());
    server.get('/', (req, res) => res.json(bodyOf(users, audit, context)));
    return listen(server);
  },
};
