import { createServer } from 'node:http';
import { Application, RequestScope, bodyOf } from '../graph.mjs';
import { listen, sendJson } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'bare',
  async start() {
    const { users, audit, context } = new RequestScope(new Application());
    return listen(createServer((req, res) => sendJson(res, bodyOf(users, audit, context))));
  },
};
