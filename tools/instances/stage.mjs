import { createDatabase } from './databases.mjs';
import { setStock, Instance } from './service.mjs';
import { startHaproxy } from './haproxy.mjs';
import { startProxy } from '../../service/chaos/proxy.mjs';
import { stop } from '../../service/chaos/support/program.mjs';

/**
 * Two instances of the service on one database, and the programs around them.
 * @typedef {object} Stage
 * @property {string} title
 * @property {readonly Instance[]} instances one on Express, one on Fastify
 * @property {readonly string[]} urls theirs
 * @property {{ url: string, seesBothReady: () => Promise<void> } | undefined} balancer
 * @property {() => void} loseNextCommit the connection breaks after the next COMMIT, before its result arrives
 * @property {import('./databases.mjs').Query} query directly on the server
 * @property {string | undefined} poolerUrl
 * @property {() => Promise<void>} close
 */

/**
 * @param {import('./databases.mjs').Server} server
 * @param {string} folder for configurations
 * @param {{ behind: boolean, settings?: Record<string, string> | undefined }} options behind HAProxy and the pooler, or not; `settings`
 *   of the service for an engine that has one database only, which is then used as it is
 * @returns {Promise<Stage>}
 */
export async function openStage(server, folder, { behind, settings }) {
  /** @type {(() => unknown)[]} */
  const cleanups = [];
  const close = async () => {
    for (const cleanUp of cleanups.toReversed()) await cleanUp();
  };
  try {
    const database = settings ? server.url : await createDatabase(server, cleanups);
    let isLost = false;
    const decide = () => {
      const fate = isLost ? 'after' : 'pass';
      isLost = false;
      return fate;
    };
    const address = { host: database.hostname, port: Number(database.port) };
    const proxy = await startProxy(address, decide, undefined, server.Conversation);
    cleanups.push(() => proxy.close());
    const pooler = behind ? await server.pooler?.start(folder, database, proxy.port) : undefined;
    if (pooler) cleanups.push(() => stop(pooler.program));

    const url = withPort(database, pooler?.port ?? proxy.port);
    const environment = {
      DATABASE_URL: url,
      DATABASE_PREPARE: String(pooler?.tracksStatements ?? true),
      METRICS: '1',
      ...settings,
    };
    const instances = [new Instance('express', environment), new Instance('fastify', environment)];
    cleanups.push(() => Promise.all(instances.map((instance) => instance.stop())));
    // Both start at once on an empty database: each finds the tables, or creates them. The stock command needs them.
    await Promise.all(instances.map((instance) => instance.start()));
    await setStock(environment, 'scarce', 10);
    const urls = instances.map((instance) => instance.url);

    const balancer = behind ? await startHaproxy(folder, urls) : undefined;
    if (balancer) cleanups.push(() => stop(balancer.program));
    const pooled = pooler ? ` and PgBouncer ${pooler.version}` : '';
    const way = balancer ? `behind HAProxy ${balancer.version}${pooled}` : 'directly';
    return {
      title: `${way} on ${server.name}, DATABASE_PREPARE=${environment.DATABASE_PREPARE}`,
      instances,
      urls,
      balancer,
      loseNextCommit: () => void (isLost = true),
      query: server.queryOf(database.href),
      poolerUrl: pooler && url,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @param {URL} database @param {number} port */
function withPort(database, port) {
  const url = new URL(database);
  [url.hostname, url.port] = ['127.0.0.1', String(port)];
  return url.href;
}
