import { setTimeout as pause } from 'node:timers/promises';
import { join } from 'node:path';
import { Balancer } from '../kit/haproxy.mjs';
import { PostgresNode } from '../kit/postgres.mjs';
import { freePort, until } from '../kit/program.mjs';

const SETTINGS = {
  wal_level: 'replica',
  max_wal_senders: '10',
  // A standby that vanishes without closing its connection is noticed.
  wal_sender_timeout: '5s',
};
/** A failover manager needs a while to be sure. */
const NOTICED_AFTER_MS = 1000;
const THAWED_MS = 1000;

/** A primary and a standby behind HAProxy, and what a failover manager does with them. */
export class Pair {
  primary;
  standby;
  balancer;
  #synchronous;

  /**
   * @param {readonly [PostgresNode, PostgresNode]} nodes
   * @param {Balancer} balancer
   * @param {boolean} synchronous
   */
  constructor([primary, standby], balancer, synchronous) {
    this.primary = primary;
    this.standby = standby;
    this.balancer = balancer;
    this.#synchronous = synchronous;
  }

  /** @param {string} folder @param {boolean} synchronous */
  static async open(folder, synchronous) {
    const primary = await PostgresNode.create(join(folder, 'db-1'), SETTINGS, 'db-1');
    const standby = new PostgresNode('db-2', join(folder, 'db-2'), await freePort(), SETTINGS);
    const balancer = await Balancer.open(
      folder,
      [primary, standby].map(({ name, port }) => ({ name, postgres: port, check: port })),
    );
    const pair = new Pair([primary, standby], balancer, synchronous);
    await primary.query('CREATE ROLE haproxy_check LOGIN');
    await pair.repair();
    return pair;
  }

  /** Where the service finds the primary. */
  get url() {
    return this.balancer.url;
  }

  /** The primary is fenced, and the standby takes its place. */
  async failOver() {
    await pause(NOTICED_AFTER_MS);
    await this.balancer.fence(this.primary.name);
    await this.promote();
  }

  async promote() {
    await this.standby.promote();
    [this.primary, this.standby] = [this.standby, this.primary];
  }

  /**
   * Thawed, it believes that it is the primary, and has the statements that were in progress, until it is stopped.
   * @param {PostgresNode} old
   */
  async demote(old) {
    const before = await this.balancer.connectionsTo(old.name);
    await pause(THAWED_MS);
    const [role] = await old.query('SELECT pg_is_in_recovery() AS standby');
    if (role?.['standby']) throw new Error('The thawed node is not a primary any more');
    const reached = (await this.balancer.connectionsTo(old.name)) - before;
    if (reached > 0) throw new Error(`${reached} connections reached the fenced node`);
    await old.stop('immediate');
    return `for ${THAWED_MS / 1000} s there were two primaries; no connection reached the old one`;
  }

  /** A node that was replaced, and does not run, becomes the synchronous standby, as a new copy. */
  async repair() {
    if ((await this.primary.query('SELECT FROM pg_stat_replication')).length > 0) return;
    await this.balancer.fence(this.standby.name);
    await this.standby.follow(this.primary);
    await this.balancer.readmit(this.standby.name);
    await this.balancer.sees(this.standby.name, false);
    await this.balancer.sees(this.primary.name);
    if (this.#synchronous) await this.#synchronize();
  }

  async #synchronize() {
    await this.primary.query(`ALTER SYSTEM SET synchronous_standby_names = '"${this.standby.name}"'`);
    await this.primary.query('SELECT pg_reload_conf()');
    await until('the standby to be synchronous', async () => {
      const [row] = await this.primary.query(`SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`);
      return row !== undefined;
    });
  }

  async close() {
    await this.balancer.close();
    for (const node of [this.primary, this.standby]) node.kill();
  }
}
