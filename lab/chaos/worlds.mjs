import { setTimeout as pause } from 'node:timers/promises';
import { createDatabase, mariadbAt, postgresAt } from '../kit/databases.mjs';
import { MariadbNode } from '../kit/mariadb.mjs';
import { PostgresNode } from '../kit/postgres.mjs';
import { temporaryFolder } from '../kit/program.mjs';
import { MariadbConversation, PostgresConversation, startProxy } from '../kit/proxy.mjs';

const CUT_COMMITS = 0.05;
/** A user without a key is stored by one statement, which commits itself. */
const COMMITTING = /^(?:commit$|insert into users\b)/i;
const KILL_SESSIONS_EVERY_MS = 250;
const KILLED = 0.33;

/**
 * @typedef {object} Harm
 * @property {(ms: number, over: AbortSignal) => Promise<Record<string, number>>} harm returns what was done, and how often
 *
 * @typedef {import('../kit/databases.mjs').Database & Harm} World a database, and the failures that can be caused in it
 *
 * @typedef {object} OwnServer a separate one with one database, so that crashing it affects nobody else
 * @property {number} port
 * @property {string} url of its database
 * @property {(how: 'fast' | 'immediate') => Promise<void>} restart `immediate` is a crash of the server
 * @property {() => Promise<void> | void} drop
 */

/** @type {Readonly<Record<import('../kit/databases.mjs').DatabaseKind, () => Promise<World>>>} */
const CREATE = {
  postgres: async () => worldOfServer(await ownPostgres(), postgresAt, PostgresConversation),
  mariadb: async () => worldOfServer(await ownMariadb(), mariadbAt, MariadbConversation),
  // It has no server that could fail by itself.
  sqlite: async () => ({ ...(await createDatabase('sqlite')), harm: async () => ({}) }),
};

/** @param {import('../kit/databases.mjs').DatabaseKind} kind */
export function createWorld(kind) {
  return CREATE[kind]();
}

/** @returns {Promise<OwnServer>} */
async function ownPostgres() {
  const node = await PostgresNode.create(temporaryFolder());
  return { port: node.port, url: node.url, restart: (how) => node.restart(how), drop: () => node.stop() };
}

/** @returns {Promise<OwnServer>} */
async function ownMariadb() {
  const node = await MariadbNode.create(temporaryFolder());
  await node.admin('CREATE DATABASE lab');
  return {
    port: node.port,
    url: node.url,
    restart: async (how) => {
      await node.stop(how === 'fast' ? 'SIGTERM' : 'SIGKILL');
      await node.start();
    },
    drop: () => node.stop('SIGKILL'),
  };
}

/**
 * @param {OwnServer} server
 * @param {(url: string) => import('../kit/databases.mjs').Place} placeAt
 * @param {new () => import('../kit/proxy.mjs').Conversation} Protocol
 * @returns {Promise<World>}
 */
async function worldOfServer(server, placeAt, Protocol) {
  const place = placeAt(server.url);
  let calm = true;
  const decide = () => {
    if (calm || Math.random() >= 2 * CUT_COMMITS) return 'pass';
    return Math.random() < 0.5 ? 'before' : 'after';
  };
  const proxy = await startProxy(server, decide, COMMITTING, Protocol);
  const throughProxy = new URL(server.url);
  throughProxy.port = String(proxy.port);

  return {
    ...place,
    env: { DATABASE_URL: throughProxy.href },
    harm: async (ms, over) => {
      calm = false;
      const [killed, restarted] = await Promise.all([killUntil(over, place), restartTwice(server, ms, over)]);
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
      await server.drop();
    },
  };
}

/**
 * @param {AbortSignal} over
 * @param {import('../kit/databases.mjs').Place} place
 */
async function killUntil(over, { sessions }) {
  let killed = 0;
  while (!over.aborted) {
    await pause(KILL_SESSIONS_EVERY_MS);
    // The server is being restarted, or the session was closed meanwhile.
    const chosen = (await sessions().catch(() => [])).filter(() => Math.random() < KILLED);
    const ends = await Promise.allSettled(chosen.map(({ kill }) => kill()));
    killed += ends.filter(({ status }) => status === 'fulfilled').length;
  }
  return killed;
}

/**
 * @param {OwnServer} server
 * @param {number} ms
 * @param {AbortSignal} over
 */
async function restartTwice(server, ms, over) {
  let restarted = 0;
  for (const how of /** @type {const} */ (['fast', 'immediate'])) {
    await pause(ms / 3);
    if (over.aborted) break;
    await server.restart(how);
    restarted++;
  }
  return restarted;
}
