import { until } from '../kit/program.mjs';
import { roleOf } from './role.mjs';

/** A node may have to be copied, beside the load, on a busy machine. */
const COPIED_WITHIN_MS = 90_000;

/** @typedef {import('./managed-node.mjs').ManagedNode} ManagedNode */

/**
 * @typedef {object} Entrance how clients find the primary
 * @property {string} url
 * @property {(node: ManagedNode) => Promise<boolean>} leadsTo whether clients that connect now may get this node
 * @property {() => unknown} close
 */

/**
 * @typedef {object} Manager
 * @property {() => Promise<boolean>} isSafe it would fail over if the primary was lost
 * @property {() => unknown} close
 */

/**
 * Nodes that a failover manager looks after. Which of them is the primary, the entrance says.
 * @template {Manager} [M=Manager]
 */
export class ManagedCluster {
  nodes;
  manager;
  #entrance;
  primary;

  /**
   * @param {readonly ManagedNode[]} nodes
   * @param {Entrance} entrance
   * @param {M} manager
   */
  constructor(nodes, entrance, manager) {
    this.nodes = nodes;
    this.manager = manager;
    this.#entrance = entrance;
    const [first] = nodes;
    if (!first) throw new Error('A cluster has nodes');
    this.primary = first;
  }

  get url() {
    return this.#entrance.url;
  }

  async failOver() {
    const old = this.primary;
    await until('clients to find another primary', async () => {
      this.primary = (await this.#open()).find((node) => node !== old) ?? old;
      return this.primary !== old;
    });
  }

  /** @param {import('./faults.mjs').ClusterNode} old */
  async demote(old) {
    const thawed = performance.now();
    const isDemoted = await until(
      `${old.name} to be a standby`,
      async () => (await roleOf(old.url)) === 'standby',
    ).then(
      () => true,
      () => false,
    );
    if (isDemoted)
      return `its manager made the old primary a standby after ${Math.round(performance.now() - thawed)} ms`;
    // What the clients of this primary wrote is now what counts.
    const [open] = await this.#open();
    if (open) this.primary = open;
    return `the old primary never became a standby; clients find ${open?.name}`;
  }

  async repair() {
    for (const node of this.nodes) if (!node.runs) node.start();
    const safe = 'every node to replicate, and one to be synchronous';
    await until(safe, () => this.manager.isSafe(), COPIED_WITHIN_MS);
    await until('clients to find a primary', async () => {
      const open = await this.#open();
      this.primary = open[0] ?? this.primary;
      return open.length === 1;
    });
  }

  async close() {
    await this.#entrance.close();
    for (const node of this.nodes) {
      node.thaw();
      node.kill();
    }
    await this.manager.close();
  }

  /** The nodes that clients find. */
  async #open() {
    const found = await Promise.all(this.nodes.map((node) => this.#entrance.leadsTo(node)));
    return this.nodes.filter((_, index) => found[index]);
  }
}

/** No balancer: the service knows every node, and uses the first one that takes writes. */
export class Addresses {
  #nodes;

  /** @param {readonly ManagedNode[]} nodes */
  constructor(nodes) {
    this.#nodes = nodes;
  }

  get url() {
    const hosts = this.#nodes.map(({ ports }) => `127.0.0.1:${ports.postgres}`);
    return `postgres://postgres@${hosts.join()}/postgres?target_session_attrs=read-write`;
  }

  /** @param {ManagedNode} node */
  async leadsTo(node) {
    return (await roleOf(node.url)) === 'primary';
  }

  close() {}
}
