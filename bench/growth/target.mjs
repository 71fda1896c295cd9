import { randomInt } from 'node:crypto';
import { startProcess } from '../shared/process.mjs';
import { cpuOfBackends, run } from '../shared/postgres.mjs';
import { nameOf, urlOf } from './databases.mjs';
import { idOf, usersOf } from './rows.mjs';

export const HOSTS = { fastify: 'ambit', express: 'ambit-express' };
const KNOWN_USERS = 10_000;
/** What PostgreSQL does for all databases: their share is not known, so it is counted only where one of them is used. */
const BACKGROUND = `datname IS NULL AND backend_type IN ('background writer', 'checkpointer', 'walwriter')`;

/**
 * The service on one host, in a process of its own, over the database with so many orders.
 *
 * @param {keyof typeof HOSTS} host
 * @param {number} orders
 * @param {{ onDisk?: boolean }} [options] whether COMMIT waits for the disk
 */
export async function startTarget(host, orders, { onDisk = false } = {}) {
  const file = new URL(`../service/contestants/${HOSTS[host]}.mjs`, import.meta.url);
  const url = onDisk ? `${urlOf(orders)}?options=-c%20synchronous_commit%3Don` : urlOf(orders);
  const server = await startProcess(file, { DATABASE_URL: url, LOG_LEVEL: 'info' });
  // The users of a service that has run for a while are in memory.
  await run(
    urlOf(orders),
    `CREATE EXTENSION IF NOT EXISTS pg_prewarm; SELECT pg_prewarm('users'), pg_prewarm('users_pkey')`,
  );
  const numbers = Array.from({ length: KNOWN_USERS }, () => 1 + randomInt(usersOf(orders)));
  const ids = await run(
    urlOf(orders),
    `SELECT ${idOf('i', usersOf(orders))} AS id FROM unnest(ARRAY[${numbers.join(', ')}]) AS i`,
  );
  const backends = `datname = '${nameOf(orders)}' AND backend_type = 'client backend'`;
  return {
    host,
    orders,
    users: ids.map(({ id }) => id),
    port: server.port,
    stop: server.stop,
    /** What everything has used until now: processes in microseconds, statements as they are counted by PostgreSQL. */
    used: async () => ({
      node: await server.cpu(),
      database: await cpuOfBackends(backends),
      background: await cpuOfBackends(BACKGROUND),
      ...(await statementsOf(orders)),
    }),
  };
}

/** Sums over all statements of a database. */
async function statementsOf(orders) {
  const [sums] = await run(
    urlOf(orders),
    `SELECT CAST(sum(shared_blks_hit + shared_blks_read) AS float8) AS blocks, CAST(sum(shared_blks_read) AS float8) AS read,
       CAST(sum(wal_bytes) AS float8) AS log, CAST(sum(wal_fpi) AS float8) AS pages
     FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND query NOT LIKE '%pg_stat_statements%'`,
  );
  return sums;
}
