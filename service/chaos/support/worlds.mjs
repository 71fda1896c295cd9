import { setTimeout as pause } from 'node:timers/promises';
import { startProxy } from '../proxy.mjs';
import { createDatabase, postgresQuery } from './database.mjs';
import { startCluster } from './postgres-cluster.mjs';

const CUT_COMMITS = 0.05;
/** A user without a key is stored by one statement, which commits itself. */
const COMMITTING = /^(?:commit$|insert into users\b)/i;
const KILL_SESSIONS_EVERY_MS = 250;

/**
 * @typedef {object} World a database, and the failures that can be caused in it
 * @property {import('./database.mjs').Database} database
 * @property {Record<string, string>} env the environment that makes the service use it
 * @property {(ms: number, over: AbortSignal) => Promise<Record<string, number>>} harm returns what was done, and how often
 * @property {() => Promise<void>} drop
 */

/**
 * @param {import('./database.mjs').DatabaseKind} kind
 * @returns {Promise<World>}
 */
export function worldOf(kind) {
  return kind === 'postgres' ? postgresWorld() : sqliteWorld();
}

/** @returns {Promise<World>} */
async function sqliteWorld() {
  const database = await createDatabase('sqlite');
  return { database, env: database.env, harm: async () => ({}), drop: () => database.drop() };
}

/** @returns {Promise<World>} */
async function postgresWorld() {
  const cluster = await startCluster();
  const query = postgresQuery(cluster.url);
  let calm = true;
  const decide = () => {
    if (calm || Math.random() >= 2 * CUT_COMMITS) return 'pass';
    return Math.random() < 0.5 ? 'before' : 'after';
  };
  const proxy = await startProxy(cluster, decide, COMMITTING);
  const throughProxy = new URL(cluster.url);
  throughProxy.port = String(proxy.port);

  return {
    database: { kind: 'postgres', env: {}, query, drop: async () => cluster.drop() },
    env: { DATABASE_URL: throughProxy.href },
    harm: async (ms, over) => {
      calm = false;
      const [killed, restarted] = await Promise.all([killSessions(query, over), restartTwice(cluster, ms, over)]);
      calm = true;
      const { before, after } = proxy.commits;
      return {
        'database sessions killed': killed,
        'database restarted, crashed': restarted,
        'cut before a commit': before,
        'cut after a commit': after,
      };
    },
    drop: async () => {
      await proxy.close();
      cluster.drop();
    },
  };
}

/**
 * A third of the service's sessions at a time.
 * @param {import('./database.mjs').Database['query']} query
 * @param {AbortSignal} over
 */
async function killSessions(query, over) {
  let killed = 0;
  while (!over.aborted) {
    await pause(KILL_SESSIONS_EVERY_MS);
    try {
      const rows = await query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = 'ambit-service' AND random() < 0.33`,
      );
      killed += rows.length;
    } catch {
      // It is being restarted.
    }
  }
  return killed;
}

/**
 * @param {import('./postgres-cluster.mjs').Cluster} cluster
 * @param {number} ms
 * @param {AbortSignal} over
 */
async function restartTwice(cluster, ms, over) {
  let restarted = 0;
  for (const how of /** @type {const} */ (['fast', 'immediate'])) {
    await pause(ms / 3);
    if (over.aborted) break;
    await cluster.restart(how);
    restarted++;
  }
  return restarted;
}
