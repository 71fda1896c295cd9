import express from 'express';
import { Application, RequestScope, bodyOf } from '../graph.mjs';
import { listen } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written middleware',
  async start() {
    const server = express();
    const app = new Application();
    server.use((req, res, next) => {
      req.scope = new RequestScope(app);
      const end = () => {
        req.scope.dispose().catch(console.error);
      };
      res.once('finish', end);
      res.once('close', () => {
        if (!res.writableEnded) end();
      });
      next();
    });
    server.get('/', ({ scope }, res) => res.json(bodyOf(scope.users, scope.audit, scope.context)));
    return listen(server);
  },
};
