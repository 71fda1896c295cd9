import express from 'express';
import { insertDirectly } from '../instant-pool.mjs';
import { listen } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written BEGIN and COMMIT',
  async start() {
    const server = express();
    server.post('/', async (req, res) => {
      res.json(await insertDirectly());
    });
    return listen(server);
  },
};
