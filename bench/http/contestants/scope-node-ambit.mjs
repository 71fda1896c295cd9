import { createServer } from 'node:http';
import { createHandler } from '@ambit/http';
import { ambitContainer } from '../containers.mjs';
import { bodyOf } from '../graph.mjs';
import { listen, sendJson } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit',
  package: '@ambit/http',
  async start() {
    const handler = createHandler(ambitContainer(), (req, res, scope) =>
      sendJson(res, bodyOf(scope.resolve('users'), scope.resolve('audit'), scope.resolve('context'))),
    );
    return listen(createServer(handler));
  },
};
