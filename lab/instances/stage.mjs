import { createDatabase } from '../kit/databases.mjs';
import { startHaproxy } from '../kit/haproxy.mjs';
import { startPgBouncer } from '../kit/pgbouncer.mjs';
import { stop } from '../kit/program.mjs';
import { MariadbConversation, PostgresConversation, startProxy } from '../kit/proxy.mjs';
import { Instance, setStock } from './instance.mjs';

const CONVERSATIONS = { postgres: PostgresConversation, mariadb: MariadbConversation };

/**
 * Two instances of the service on one database, and the programs around them.
 * @typedef {object} Stage
 * @property {string} title
 * @property {readonly Instance[]} instances one on Express, one on Fastify
 * @property {readonly string[]} urls theirs
 * @property {{ url: string, seesBothReady: () => Promise<void> } | undefined} balancer
 * @property {() => void} loseNextCommit the connection breaks after the next COMMIT, before its result arrives
 * @property {import('../kit/databases.mjs').Query} query directly on the server
 * @property {string | undefined} poolerUrl
 * @property {() => Promise<void>} close
 */

/**
 * @param {'postgres' | 'mariadb'} kind
 * @param {string} folder for configurations
 * @param {boolean} behind HAProxy and the pooler
 * @returns {Promise<Stage>}
 */
export async function openStage(kind, folder, behind) {
  /** @type {(() => unknown)[]} */
  const cleanups = [];
  const close = async () => {
    for (const cleanUp of cleanups.toReversed()) await cleanUp();
  };
  try {
    const database = await createDatabase(kind);
    cleanups.push(() => database.drop());
    const address = new URL(database.env['DATABASE_URL'] ?? '');
    const target = { host: address.hostname, port: Number(address.port) || { postgres: 5432, mariadb: 3306 }[kind] };
    let isLost = false;
    const decide = () => {
      const fate = isLost ? 'after' : 'pass';
      isLost = false;
      return fate;
    };
    const proxy = await startProxy(target, decide, undefined, CONVERSATIONS[kind]);
    cleanups.push(() => proxy.close());
    const pooler = behind && kind === 'postgres' ? await startPgBouncer(folder, address, proxy.port) : undefined;
    if (pooler) cleanups.push(() => stop(pooler.program));

    address.host = `127.0.0.1:${pooler?.port ?? proxy.port}`;
    const url = address.href;
    const environment = {
      DATABASE_URL: url,
      DATABASE_PREPARE: String(pooler?.tracksStatements ?? true),
      METRICS: '1',
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
      title: `${way} on ${kind}, DATABASE_PREPARE=${environment.DATABASE_PREPARE}`,
      instances,
      urls,
      balancer,
      loseNextCommit: () => void (isLost = true),
      query: database.query,
      poolerUrl: pooler && url,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
