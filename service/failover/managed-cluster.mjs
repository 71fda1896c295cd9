import { until } from '../chaos/support/program.mjs';

/** Nodes that a failover manager looks after. Which of them is the primary, HAProxy says. */
export class ManagedCluster {
  #nodes;
  #balancer;
  #manager;
  primary;

  /**
   * @param {readonly import('./managed-node.mjs').ManagedNode[]} nodes
   * @param {import('./balancer.mjs').Balancer} balancer
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
      this.primary = (await this.#up()).find((node) => node !== old) ?? old;
      return this.primary !== old;
    });
  }

  /** @param {import('./faults.mjs').ClusterNode} old */
  async demote(old) {
    const thawed = performance.now();
    const demoted = until(`${old.name} to be a standby`, () => isStandby(old));
    const isDemoted = await demoted.then(
      () => true,
      () => false,
    );
    if (isDemoted)
      return `its manager made the old primary a standby after ${Math.round(performance.now() - thawed)} ms`;
    // What the clients of this primary wrote is now what counts.
    const [up] = await this.#up();
    if (up) this.primary = up;
    return `the old primary never became a standby; HAProxy sends clients to ${up?.name}`;
  }

  async repair() {
    for (const node of this.#nodes) if (!node.runs) node.start();
    await until('every node to replicate, and one to be synchronous', this.#manager.isSafe);
    await this.#balancer.sees(this.primary.name);
  }

  /** The nodes that HAProxy sends clients to. */
  async #up() {
    const statuses = await Promise.all(this.#nodes.map(({ name }) => this.#balancer.statusOf(name)));
    return this.#nodes.filter((_, index) => statuses[index]?.startsWith('UP'));
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
