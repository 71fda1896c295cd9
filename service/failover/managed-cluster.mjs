import { until } from '../../scripts/instances/program.mjs';
import { Balancer } from './balancer.mjs';

/** Nodes that a failover manager looks after. Which of them is the primary, HAProxy says. */
export class ManagedCluster {
  #nodes;
  #balancer;
  #manager;
  primary;

  /**
   * @param {readonly import('./managed-node.mjs').ManagedNode[]} nodes
   * @param {Balancer} balancer
   * @param {{ isSafe: () => Promise<boolean>, close: () => unknown }} manager `isSafe`: it would fail over if the primary was lost
   */
  constructor(nodes, balancer, manager) {
    this.#nodes = nodes;
    this.#balancer = balancer;
    this.#manager = manager;
    const [first] = nodes;
    if (!first) throw new Error('A cluster has nodes');
    this.primary = first;
  }

  get url() {
    return `postgres://postgres@127.0.0.1:${this.#balancer.port}/postgres`;
  }

  async failOver() {
    const old = this.primary;
    await until('HAProxy to see another primary', async () => {
      for (const node of this.#nodes) {
        if (node !== old && (await this.#balancer.statusOf(node.name)).startsWith('UP')) this.primary = node;
      }
      return this.primary !== old;
    });
  }

  /** @param {import('./faults.mjs').ClusterNode} old */
  async demote(old) {
    const thawed = performance.now();
    await until(`${old.name} to be a standby`, () => isStandby(old));
    return `its manager made the old primary a standby after ${Math.round(performance.now() - thawed)} ms`;
  }

  async repair() {
    for (const node of this.#nodes) if (!node.runs) node.start();
    await until('every node to replicate, and one to be synchronous', this.#manager.isSafe);
    await this.#balancer.sees(this.primary.name);
  }

  async close() {
    await this.#balancer.close();
    for (const node of this.#nodes) {
      node.thaw();
      node.kill();
    }
    await this.#manager.close();
  }
}

/** @param {import('./faults.mjs').ClusterNode} node */
async function isStandby(node) {
  try {
    const [row] = await node.query('SELECT pg_is_in_recovery()::text AS recovery');
    return row?.['recovery'] === 'true';
  } catch {
    // It restarts.
    return false;
  }
}
