import { createServer } from 'node:http';
import { INSERT, instantPool } from '../instant-pool.mjs';
import { listen, sendJson } from '../listen.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'no transaction',
  async start() {
    const connection = await instantPool.getConnection();
    const insert = async (res) => sendJson(res, (await connection.query(INSERT, [1]))[0]);
    return listen(createServer((req, res) => void insert(res)));
  },
};
