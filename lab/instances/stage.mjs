import { createDatabase } from '../kit/databases.mjs';
import { startHaproxy } from '../kit/haproxy.mjs';
import { startPgBouncer } from '../kit/pgbouncer.mjs';
import { stop } from '../kit/program.mjs';
import { Instance } from './instance.mjs';

/**
 * Two instances of the service on one database, and the programs around them.
 * @typedef {object} Stage
 * @property {string} title
 * @property {readonly Instance[]} instances one on Express, one on Fastify
 * @property {readonly string[]} urls theirs
 * @property {{ url: string, seesBothReady: () => Promise<void> }} balancer
 * @property {import('../kit/databases.mjs').Query} query directly on the server
 * @property {string | undefined} poolerUrl
 * @property {() => Promise<void>} close
 */

/**
 * @param {'postgres' | 'mariadb'} kind
 * @param {string} folder for configurations
 * @returns {Promise<Stage>}
 */
export async function openStage(kind, folder) {
  /** @type {(() => unknown)[]} */
  const cleanups = [];
  const close = async () => {
    for (const cleanUp of cleanups.toReversed()) await cleanUp();
  };
  try {
    const database = await createDatabase(kind);
    cleanups.push(() => database.drop());
    const address = new URL(database.env['DATABASE_URL'] ?? '');
    const pooler =
      kind === 'postgres' ? await startPgBouncer(folder, address, Number(address.port) || 5432) : undefined;
    if (pooler) {
      cleanups.push(() => stop(pooler.program));
      address.host = `127.0.0.1:${pooler.port}`;
    }
    const url = address.href;
    const environment = {
      DATABASE_URL: url,
      DATABASE_PREPARE: String(pooler?.tracksStatements ?? true),
      METRICS: '1',
    };
    const instances = [new Instance('express', environment), new Instance('fastify', environment)];
    cleanups.push(() => Promise.all(instances.map((instance) => instance.stop())));
    // Both start at once on an empty database: each finds the tables, or creates them.
    await Promise.all(instances.map((instance) => instance.start()));
    const urls = instances.map((instance) => instance.url);

    const balancer = await startHaproxy(folder, urls);
    cleanups.push(() => stop(balancer.program));
    const pooled = pooler ? ` and PgBouncer ${pooler.version}` : '';
    return {
      title: `behind HAProxy ${balancer.version}${pooled} on ${kind}, DATABASE_PREPARE=${environment.DATABASE_PREPARE}`,
      instances,
      urls,
      balancer,
      query: database.query,
      poolerUrl: pooler && url,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
