import { join } from 'node:path';
import { mariadbQuery } from './databases/mariadb.mjs';
import { MariadbNode } from './mariadb-node.mjs';

/** A server whose acknowledged COMMIT has reached the replica first. Without a replica it waits, and acknowledges nothing. */
const SEMI_SYNC = {
  'rpl-semi-sync-master-enabled': 'ON',
  'rpl-semi-sync-master-wait-point': 'AFTER_SYNC',
  'rpl-semi-sync-master-timeout': '3600000',
};

/** @implements {ProtectedDatabase} @typedef {import('./protected.mjs').ProtectedDatabase} ProtectedDatabase */
export class ProtectedMariadb {
  #node;
  #replica;

  /**
   * @param {MariadbNode} node
   * @param {MariadbNode} [replica]
   */
  constructor(node, replica) {
    this.#node = node;
    this.#replica = replica;
  }

  /**
   * @param {string} disk
   * @param {string} copies a folder on another disk
   * @param {{ replica?: 'asynchronous' | 'semi-synchronous', settings?: Record<string, string> }} [options]
   */
  static async open(disk, copies, { replica: how, settings = {} } = {}) {
    const waits = how === 'semi-synchronous';
    const logged = how === undefined ? {} : { 'log-bin': 'log', 'server-id': '1', ...(waits ? SEMI_SYNC : {}) };
    const node = await MariadbNode.create(join(disk, 'node'), { ...logged, ...settings });
    /** @type {MariadbNode | undefined} */
    let replica;
    if (how !== undefined) {
      const following = { 'server-id': '2', 'rpl-semi-sync-slave-enabled': waits ? 'ON' : 'OFF' };
      replica = await MariadbNode.create(join(copies, 'replica'), following);
      await replica.follow(node);
    }
    await node.admin('CREATE DATABASE chaos');
    return new ProtectedMariadb(node, replica);
  }

  get env() {
    return { DATABASE_URL: this.#node.url };
  }

  get query() {
    return mariadbQuery(this.#node.url);
  }

  async protect() {}

  async pids() {
    return [this.#node.pid];
  }

  restart() {
    return this.#node.start();
  }

  async restore() {
    if (!this.#replica) throw new Error('There is no copy of this MariaDB');
    this.#node = this.#replica;
    this.#replica = undefined;
    await this.#node.promote();
  }

  async close() {
    await this.#replica?.stop('SIGKILL');
    await this.#node.stop('SIGKILL');
  }
}
