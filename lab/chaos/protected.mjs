import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { mariadbQuery, postgresQuery, sqliteQuery } from '../kit/databases.mjs';
import { MariadbNode } from '../kit/mariadb.mjs';
import { fromArchive, owned, PostgresNode } from '../kit/postgres.mjs';
import { Litestream } from './litestream.mjs';

/**
 * @typedef {object} ProtectedDatabase a database that can be damaged, and the copy of it, if it has one
 * @property {Record<string, string>} env the environment that makes the service use it; another one after `restore()`
 * @property {import('../kit/databases.mjs').Query} query
 * @property {() => Promise<void>} protect starts what copies it; its tables exist
 * @property {() => number[]} pids of its processes, which a failure kills
 * @property {() => Promise<void>} restart after a failure, on the same disk
 * @property {(until?: Date) => Promise<void>} restore from the copy, when the disk is lost
 * @property {() => Promise<void>} close
 */

const LOOK_AGAIN_MS = 20;
/** A server whose acknowledged COMMIT has reached the replica first. Without a replica it waits, and acknowledges nothing. */
const SEMI_SYNC = {
  'rpl-semi-sync-master-enabled': 'ON',
  'rpl-semi-sync-master-wait-point': 'AFTER_SYNC',
  'rpl-semi-sync-master-timeout': '3600000',
};

/** @implements {ProtectedDatabase} */
export class ProtectedSqlite {
  #litestream;
  #copies;

  /**
   * @param {string} disk
   * @param {string} copies a folder on another disk
   * @param {{ litestream?: boolean, env?: Record<string, string> }} [options]
   */
  constructor(disk, copies, { litestream = false, env = {} } = {}) {
    const folder = join(disk, 'data');
    this.#copies = copies;
    this.env = { ...env, DATA_DIR: folder };
    this.query = sqliteQuery(join(folder, 'ambit.db'));
    this.#litestream = litestream ? new Litestream(join(folder, 'ambit.db'), join(copies, 'replica')) : undefined;
  }

  async protect() {
    await this.#litestream?.start();
  }

  pids() {
    return this.#litestream ? [this.#litestream.pid] : [];
  }

  async restart() {}

  /** @param {Date} [until] */
  async restore(until) {
    const folder = join(this.#copies, 'restored');
    mkdirSync(folder);
    await this.#litestream?.restore(join(folder, 'ambit.db'), until);
    this.env = { ...this.env, DATA_DIR: folder };
    this.query = sqliteQuery(join(folder, 'ambit.db'));
  }

  async close() {}
}

/** @implements {ProtectedDatabase} */
export class ProtectedPostgres {
  #copies;
  /** @type {PostgresNode | undefined} */
  #standby;

  /**
   * @param {PostgresNode} node
   * @param {string} copies a folder on another disk
   */
  constructor(node, copies) {
    this.node = node;
    this.#copies = copies;
  }

  /**
   * @param {string} disk
   * @param {string} copies
   * @param {{ copy?: 'standby' | 'archive', settings?: Record<string, string> }} [options]
   */
  static async open(disk, copies, { copy, settings = {} } = {}) {
    const archive = join(copies, 'archive');
    owned(copies);
    owned(archive);
    const archiving =
      copy === 'archive' ? { archive_mode: 'on', archive_command: `cp %p ${archive}/%f`, archive_timeout: '1s' } : {};
    const database = new ProtectedPostgres(
      await PostgresNode.create(join(disk, 'node'), { ...archiving, ...settings }),
      copies,
    );
    if (copy === 'archive') await database.node.copyTo(join(copies, 'base'));
    if (copy === 'standby') database.#standby = await database.node.follower(join(copies, 'standby'));
    return database;
  }

  get env() {
    return { DATABASE_URL: this.node.url };
  }

  get query() {
    return postgresQuery(this.node.url);
  }

  async protect() {}

  pids() {
    return this.node.pids();
  }

  restart() {
    return this.node.start();
  }

  /** @param {Date} [until] */
  async restore(until) {
    if (this.#standby) {
      this.node = this.#standby;
      this.#standby = undefined;
      return this.node.promote();
    }
    const folder = join(this.#copies, 'restored');
    fromArchive(join(this.#copies, 'base'), join(this.#copies, 'archive'), folder, until);
    this.node = await this.node.beside(folder);
    await this.node.start();
    while ((await this.query('SELECT pg_is_in_recovery() AS recovering'))[0]?.['recovering'])
      await pause(LOOK_AGAIN_MS);
  }

  async close() {
    for (const node of [this.#standby, this.node]) await node?.stop().catch(() => undefined);
  }
}

/** @implements {ProtectedDatabase} */
export class ProtectedMariadb {
  #node;
  #replica;

  /** @param {MariadbNode} node @param {MariadbNode} [replica] */
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
    await node.admin('CREATE DATABASE lab');
    return new ProtectedMariadb(node, replica);
  }

  get env() {
    return { DATABASE_URL: this.#node.url };
  }

  get query() {
    return mariadbQuery(this.#node.url);
  }

  async protect() {}

  pids() {
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
