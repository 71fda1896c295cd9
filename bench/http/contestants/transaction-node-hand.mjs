import { createServer } from 'node:http';
import { insertDirectly } from '../instant-pool.mjs';
import { listen, sendJson } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written BEGIN and COMMIT',
  async start() {
    return listen(createServer((req, res) => void insertDirectly().then((order) => sendJson(res, order))));
  },
};
