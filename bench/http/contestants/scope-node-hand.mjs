import { createServer } from 'node:http';
import { Application, RequestScope, bodyOf } from '../graph.mjs';
import { listen, sendJson } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written listeners',
  async start() {
    const app = new Application();
    const server = createServer((req, res) => {
      const scope = new RequestScope(app);
      const end = () => {
        scope.dispose().catch(console.error);
      };
      res.once('finish', end);
      res.once('close', () => {
        if (!res.writableEnded) end();
      });
      sendJson(res, bodyOf(scope.users, scope.audit, scope.context));
    });
    return listen(server);
  },
};
