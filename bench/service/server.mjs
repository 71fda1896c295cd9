import { startServer } from '../shared/servers.mjs';
import { createDatabase } from './database.mjs';
import { works } from './works.mjs';

/**
 * A contestant with a database of its own, which must contain all acknowledged rows at the end.
 *
 * @param {string} kind sqlite or postgres
 * @param {URL} file the contestant's
 * @param {string} work one of works.mjs
 * @param {{ env?: NodeJS.ProcessEnv, onDisk?: boolean }} [options]
 */
export async function startServiceOn(kind, file, work, { env = {}, onDisk = false } = {}) {
  const { requestOf, stores, warmUp, products } = works[work];
  const database = await createDatabase(kind, { onDisk, products });
  // The responses are compared by check.mjs; the load client checks only their status.
  const load = { requestOf, check: () => undefined, warmUp };
  const server = await startServer(file, load, { ...database.env, LOG_LEVEL: 'info', ...env }, database.cpu);
  const stop = async () => {
    await server.stop();
    const [stored, expected] = [await database.stored(), stores ? server.completed() : 0];
    await database.drop();
    if (stored !== expected) throw new Error(`${file.pathname}, ${work}: ${expected} acknowledged, ${stored} stored`);
  };
  return { measure: server.measure, stop };
}
