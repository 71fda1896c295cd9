import { Load, replay } from '../kit/crowd.mjs';
import { Ledger } from '../kit/ledger.mjs';
import { startServer, stopServer } from '../kit/service.mjs';
import { compare, Findings, KINDS, PRODUCTS, setStock, STOCK } from '../kit/stored.mjs';

/** So many acknowledged requests are repeated on each instance after each fault. */
const REPLAYS = 50;
const [LOST, TWICE, REFUTED] = ['acknowledged and missing', 'done more than once', 'cluster'];

/** @typedef {import('../kit/databases.mjs').Stored} Stored */
/** @typedef {import('../kit/service.mjs').Server} Server */
/** @typedef {{ host: import('../kit/options.mjs').Host, env: Record<string, string> }} Instance */

/**
 * Instances of the service on a cluster, under load; what their clients received, and what is stored.
 * @template C
 */
export class Trial {
  /** Of the last comparison: what is lost stays lost. */
  findings = new Findings();
  /** @type {string[]} */
  #exits = [];
  /** What clusters did, and must not do. @type {string[]} */
  #refuted = [];
  #ledger = new Ledger(PRODUCTS);
  #cluster;
  #servers;
  #database;
  #clients;
  #stopping = false;

  /**
   * @param {C} cluster
   * @param {readonly Server[]} servers
   * @param {() => Stored} database as it is stored at this moment, past everything that is in front of it
   * @param {number} [clients] of each instance
   */
  constructor(cluster, servers, database, clients) {
    this.#cluster = cluster;
    this.#servers = servers;
    this.#database = database;
    this.#clients = clients;
    for (const { exited, errors } of servers) {
      void exited.then(({ code, signal }) => {
        if (!this.#stopping) this.#exits.push(`an instance exited with ${code ?? signal}: ${errors.join('\n')}`);
      });
    }
  }

  /**
   * @template C
   * @param {C} cluster
   * @param {readonly Instance[]} instances
   * @param {() => Stored} database
   * @param {number} [clients] of each instance
   */
  static async start(cluster, instances, database, clients) {
    const servers = await Promise.all(instances.map(({ host, env }) => startServer(host, env)));
    const trial = new Trial(cluster, servers, database, clients);
    await setStock(database(), STOCK);
    return trial;
  }

  /**
   * @param {string} name
   * @param {import('./faults.mjs').Fault<C>} fault
   * @returns {Promise<(string | number)[]>} what the clients saw: a row
   */
  async suffer(name, fault) {
    const loads = this.#servers.map(({ url }) => new Load(url, this.#ledger, this.#clients));
    await Promise.all(loads.map((load) => load.working()));
    const proof = await fault(this.#cluster, loads, (what) => this.#refuted.push(`${name}: ${what}`));
    await Promise.all(loads.map((load) => load.working()));
    await Promise.all(loads.map((load) => load.stop()));
    for (const { url } of this.#servers) await replay(url, this.#ledger, REPLAYS);
    const [before, outages] = [this.findings, loads.map(({ outage }) => outage)];
    this.findings = new Findings();
    for (const exit of this.#exits) this.findings.add('process', exit);
    for (const what of this.#refuted) this.findings.add(REFUTED, what);
    await compare(this.#database(), this.#ledger, this.findings);
    const more = (/** @type {string} */ kind) => this.findings.count(kind) - before.count(kind);
    return [
      name,
      ...outages.map(({ ms }) => Math.round(ms)),
      seen(outages),
      loads.reduce((sum, load) => sum + load.count('201'), 0),
      more(LOST),
      more(TWICE),
      [...KINDS, REFUTED].filter((kind) => kind !== LOST && kind !== TWICE).reduce((sum, kind) => sum + more(kind), 0),
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
}

/** Of the rows of `suffer()`. @param {readonly string[]} instances their names */
export function headOf(instances) {
  return [
    'what happened',
    ...instances.map((name) => `${name}: ms without orders`),
    'responses meanwhile',
    'acknowledged',
    'lost',
    'stored twice',
    'other violations',
    'notes',
  ];
}

/** @param {readonly import('../kit/crowd.mjs').Outage[]} outages */
function seen(outages) {
  /** @type {Map<string, number>} */
  const sum = new Map();
  for (const { statuses } of outages)
    for (const [status, count] of statuses) sum.set(status, (sum.get(status) ?? 0) + count);
  return [...sum].map(([status, count]) => `${count} x ${status}`).join('; ');
}
