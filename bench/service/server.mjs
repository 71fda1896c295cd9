import { startServer } from '../shared/servers.mjs';
import { createDatabase } from './database.mjs';
import { works } from './works.mjs';

/**
 * A contestant with a database of its own, which must hold in the end what was answered.
 *
 * @param {string} kind sqlite or postgres
 * @param {URL} file the contestant's
 * @param {string} work one of works.mjs
 * @param {{ env?: NodeJS.ProcessEnv, onDisk?: boolean }} [options]
 */
export async function startServiceOn(kind, file, work, { env = {}, onDisk = false } = {}) {
  const { requestOf, stores, warmUp, products } = works[work];
  const database = await createDatabase(kind, { onDisk, products });
  // The check has seen the answers; the load sees that they are answers of success.
  const told = { requestOf, check: () => undefined, warmUp };
  const server = await startServer(file, told, { ...database.env, LOG_LEVEL: 'info', ...env }, database.cpu);
  const stop = async () => {
    await server.stop();
    const [stored, expected] = [await database.stored(), stores ? server.answered() : 0];
    await database.drop();
    if (stored !== expected) throw new Error(`${file.pathname}, ${work}: ${expected} answered, ${stored} stored`);
  };
  return { measure: server.measure, stop };
}
