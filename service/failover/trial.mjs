import { compare, KINDS, PRODUCTS, STOCK } from '../chaos/support/comparison.mjs';
import { replay } from '../chaos/support/crowd.mjs';
import { Ledger } from '../chaos/support/ledger.mjs';
import { startServer, stopServer } from '../chaos/support/server.mjs';
import { Findings, setStock } from '../chaos/support/stored.mjs';
import { Load } from './load.mjs';

const HOSTS = /** @type {const} */ (['express', 'fastify']);

/** So many acknowledged requests are repeated on each instance after each fault. */
const REPLAYS = 50;
const [LOST, TWICE] = ['acknowledged and missing', 'done more than once'];

/** @typedef {import('./faults.mjs').Cluster} Cluster */
/** @typedef {import('../chaos/support/server.mjs').Server} Server */

/**
 * One Express and one Fastify instance on a cluster, under load; what their clients received, and what is stored.
 * @template {Cluster} C
 */
export class Trial {
  /** Of the last comparison: what is lost stays lost. */
  findings = new Findings();
  /** @type {string[]} */
  #exits = [];
  #ledger = new Ledger(PRODUCTS);
  #cluster;
  #servers;
  #stopping = false;

  /**
   * @param {C} cluster
   * @param {readonly Server[]} servers
   */
  constructor(cluster, servers) {
    this.#cluster = cluster;
    this.#servers = servers;
    for (const { exited, errors } of servers) {
      void exited.then(({ code, signal }) => {
        if (!this.#stopping) this.#exits.push(`an instance exited with ${code ?? signal}: ${errors.join('\n')}`);
      });
    }
  }

  /**
   * @template {Cluster} C
   * @param {C} cluster
   * @param {Record<string, string>} env of the service
   */
  static async open(cluster, env) {
    const servers = await Promise.all(
      HOSTS.map((host) => startServer(host, { DATABASE_URL: cluster.url, LOG_LEVEL: 'info', ...env })),
    );
    const trial = new Trial(cluster, servers);
    await setStock(trial.#database, STOCK);
    return trial;
  }

  /**
   * @param {string} name
   * @param {import('./faults.mjs').Fault<C>} fault
   * @returns {Promise<(string | number)[]>} what the clients saw: a row of `HEAD`
   */
  async suffer(name, fault) {
    const loads = this.#servers.map(({ url }) => new Load(url, this.#ledger));
    await Promise.all(loads.map((load) => load.working()));
    const proof = await fault(this.#cluster, loads);
    await Promise.all(loads.map((load) => load.working()));
    await Promise.all(loads.map((load) => load.stop()));
    for (const { url } of this.#servers) await replay(url, this.#ledger, REPLAYS);
    const [before, outages] = [this.findings, loads.map(({ outage }) => outage)];
    this.findings = new Findings();
    for (const exit of this.#exits) this.findings.add('process', exit);
    await compare(this.#database, this.#ledger, this.findings);
    const more = (/** @type {string} */ kind) => this.findings.count(kind) - before.count(kind);
    return [
      name,
      ...outages.map(({ ms }) => Math.round(ms)),
      seen(outages),
      loads.reduce((sum, load) => sum + load.count('201'), 0),
      more(LOST),
      more(TWICE),
      KINDS.filter((kind) => kind !== LOST && kind !== TWICE).reduce((sum, kind) => sum + more(kind), 0),
      proof,
    ];
  }

  /** Both instances shut down as usual, or it is a finding. */
  async close() {
    this.#stopping = true;
    for (const { code, signal } of await Promise.all(this.#servers.map(stopServer))) {
      if (code !== 0) this.findings.add('process', `after SIGTERM an instance exited with ${code ?? signal}`);
    }
  }

  /** @returns {import('../chaos/support/database.mjs').Database} on the primary of the moment, without the balancer */
  get #database() {
    const { query } = this.#cluster.primary;
    return { kind: 'postgres', env: {}, query, drop: async () => undefined };
  }
}

export const HEAD = [
  'what happened',
  ...HOSTS.map((host) => `${host}: ms without orders`),
  'responses meanwhile',
  'acknowledged',
  'lost',
  'stored twice',
  'other violations',
  'notes',
];

/** @param {readonly import('./load.mjs').Outage[]} outages */
function seen(outages) {
  /** @type {Map<string, number>} */
  const sum = new Map();
  for (const { statuses } of outages)
    for (const [status, count] of statuses) sum.set(status, (sum.get(status) ?? 0) + count);
  return [...sum].map(([status, count]) => `${count} x ${status}`).join('; ');
}
