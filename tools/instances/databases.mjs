import { randomUUID } from 'node:crypto';
import { mariadb } from './databases/mariadb.mjs';
import { postgres } from './databases/postgres.mjs';

/** @typedef {import('../../service/chaos/support/database.mjs').Database['query']} Query */

/**
 * A server that several instances share: everything in which the databases differ here.
 * @typedef {object} Server
 * @property {string} name
 * @property {URL} url its user may create databases
 * @property {boolean} isRequired whether leaving something out is a failure
 * @property {(url: string) => Query} queryOf directly, not through the service
 * @property {new () => import('../../service/chaos/proxy.mjs').Conversation} Conversation
 * @property {(name: string) => string} dropDatabase the statement, for a database that may be in use
 * @property {Pooler} [pooler] what stands between the service and the server
 */

/**
 * @typedef {object} Pooler
 * @property {string} name
 * @property {typeof import('../../service/chaos/support/pgbouncer.mjs').startPgBouncer} start
 * @property {Record<string, import('./scenarios.mjs').Scenario>} scenarios
 */

/** @type {Readonly<Record<string, Server>>} */
const SERVERS = { postgres, mariadb };

/** @param {string} [name] of one; without it they are all */
export function serversNamed(name) {
  if (name === undefined) return Object.values(SERVERS);
  const server = SERVERS[name];
  if (server) return [server];
  throw new Error(`--database must be one of ${Object.keys(SERVERS).join(', ')}, not ${name}`);
}

/**
 * Says what is left out. Where a server is required, the programs around it are required, too.
 * @param {Server} server
 * @param {string} what
 * @param {string} why
 * @returns {number} how many failures that is
 */
export function skipped({ name, isRequired }, what, why) {
  console.log(`skipped: ${what} on ${name}, because ${why}`);
  return isRequired ? 1 : 0;
}

/**
 * An empty database; the last cleanup drops it.
 * @param {Pick<Server, 'url' | 'queryOf' | 'dropDatabase'>} server
 * @param {(() => unknown)[]} cleanups
 */
export async function createDatabase({ url: admin, queryOf, dropDatabase }, cleanups) {
  const name = `ambit_instances_${randomUUID().replaceAll('-', '')}`;
  const query = queryOf(admin.href);
  await query(`CREATE DATABASE ${name}`);
  cleanups.push(() => query(dropDatabase(name)));
  const url = new URL(admin);
  url.pathname = name;
  return url;
}
