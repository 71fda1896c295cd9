import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { postgresQuery } from './databases/postgres.mjs';
import { sqliteQuery } from './databases/sqlite.mjs';
import { Litestream } from './litestream.mjs';
import { fromArchive, owned, PostgresNode } from './postgres-node.mjs';

/**
 * @typedef {object} ProtectedDatabase a database that can be damaged, and the copy of it, if it has one
 * @property {Record<string, string>} env the environment that makes the service use it; another one after `restore()`
 * @property {import('./database.mjs').Database['query']} query
 * @property {() => Promise<void>} protect starts what copies it; its tables exist
 * @property {() => Promise<number[]>} pids of its processes, which a failure kills
 * @property {() => Promise<void>} restart after a failure, on the same disk
 * @property {(until?: Date) => Promise<void>} restore from the copy, when the disk is lost
 * @property {() => Promise<void>} close
 */

const LOOK_AGAIN_MS = 20;

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

  async pids() {
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
  /** @type {PostgresNode | undefined} */
  #standby;

  /**
   * @param {PostgresNode} primary
   * @param {string} copies a folder on another disk
   */
  constructor(primary, copies) {
    this.node = primary;
    this.copies = copies;
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
    const node = await PostgresNode.create(join(disk, 'node'), { ...archiving, ...settings });
    const database = new ProtectedPostgres(node, copies);
    if (copy === 'archive') await node.copyTo(join(copies, 'base'));
    if (copy === 'standby') await database.#follow();
    return database;
  }

  get env() {
    return { DATABASE_URL: this.node.url };
  }

  get query() {
    return postgresQuery(this.node.url);
  }

  async protect() {}

  async #follow() {
    this.#standby = await this.node.follower(join(this.copies, 'standby'));
    await this.#standby.start();
    while ((await this.query("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'")).length === 0)
      await pause(LOOK_AGAIN_MS);
  }

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
    const folder = join(this.copies, 'restored');
    fromArchive(join(this.copies, 'base'), join(this.copies, 'archive'), folder, until);
    this.node = await this.node.on(folder);
    await this.node.start();
    while ((await this.query('SELECT pg_is_in_recovery() AS recovering'))[0]?.['recovering'])
      await pause(LOOK_AGAIN_MS);
  }

  async close() {
    for (const node of [this.#standby, this.node]) await node?.stop().catch(() => undefined);
  }
}
