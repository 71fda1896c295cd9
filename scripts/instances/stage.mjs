import { randomUUID } from 'node:crypto';
import { Client, Pool } from 'pg';
import { setStock, Instance } from './service.mjs';
import { startHaproxy } from './haproxy.mjs';
import { SERVER_CONNECTIONS, startPgBouncer } from '../../service/chaos/support/pgbouncer.mjs';
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
 * @property {(sql: string, params?: unknown[]) => Promise<Record<string, unknown>[]>} query directly on PostgreSQL
 * @property {{ url: string, adminUrl: string, places: number } | undefined} pooler
 * @property {() => Promise<void>} close
 */

/**
 * @param {URL} admin where databases can be created
 * @param {string} folder for configurations
 * @param {{ behind: boolean, settings?: Record<string, string> | undefined }} options behind PgBouncer and HAProxy, or not; `settings`
 *   of the service for an engine that has one database only, which is then used as it is
 * @returns {Promise<Stage>}
 */
export async function openStage(admin, folder, { behind, settings }) {
  /** @type {(() => unknown)[]} */
  const cleanups = [];
  const close = async () => {
    for (const cleanUp of cleanups.toReversed()) await cleanUp();
  };
  try {
    const database = settings ? admin : await createDatabase(admin, cleanups);
    let isLost = false;
    const proxy = await startProxy({ host: database.hostname, port: Number(database.port || 5432) }, () => {
      const fate = isLost ? 'after' : 'pass';
      isLost = false;
      return fate;
    });
    cleanups.push(() => proxy.close());
    const pooler = behind ? await startPgBouncer(folder, database, proxy.port) : undefined;
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
    const direct = new Pool({ connectionString: database.href, max: 2 });
    cleanups.push(() => direct.end());
    const prepared = environment.DATABASE_PREPARE === 'true' ? 'named statements' : 'no named statements';
    return {
      title:
        pooler && balancer
          ? `behind HAProxy ${balancer.version} and PgBouncer ${pooler.version}, ${prepared}`
          : `directly on PostgreSQL, ${prepared}`,
      instances,
      urls,
      balancer,
      loseNextCommit: () => void (isLost = true),
      query: async (sql, params) => (await direct.query(sql, params)).rows,
      pooler: pooler && {
        url,
        adminUrl: withPort(new URL('/pgbouncer', admin), pooler.port),
        places: SERVER_CONNECTIONS,
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * @param {URL} admin
 * @param {(() => unknown)[]} cleanups
 */
export async function createDatabase(admin, cleanups) {
  const name = `ambit_instances_${randomUUID().replaceAll('-', '')}`;
  const client = new Client({ connectionString: admin.href });
  await client.connect();
  cleanups.push(() => client.end());
  await client.query(`CREATE DATABASE ${name}`);
  cleanups.push(() => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
  const url = new URL(admin);
  url.pathname = name;
  return url;
}

/** @param {URL} database @param {number} port */
function withPort(database, port) {
  const url = new URL(database);
  [url.hostname, url.port] = ['127.0.0.1', String(port)];
  return url.href;
}
