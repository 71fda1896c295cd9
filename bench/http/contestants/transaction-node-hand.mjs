import { createServer } from 'node:http';
import { insertInTransaction } from '../instant-pool.mjs';
import { listen, sendJson } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written BEGIN and COMMIT',
  async start() {
    return listen(createServer((req, res) => void insertInTransaction().then((order) => sendJson(res, order))));
  },
};
