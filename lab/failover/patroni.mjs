import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, until } from '../kit/program.mjs';
import { postgresBinaries } from '../kit/postgres.mjs';
import { Etcd } from './etcd.mjs';
import { ManagedCluster } from './managed-cluster.mjs';
import { ManagedNode } from './managed-node.mjs';
import { Relay } from '../kit/relay.mjs';
import { roleOf } from './role.mjs';

const run = promisify(execFile);
const NODES = ['db-1', 'db-2', 'db-3'];
const RETRY_S = 3;
const LOOP_S = 1;
/** Seconds without a renewal after which another node may be the leader: a leader that cannot renew it has demoted itself by then. */
export const TTL_S = LOOP_S + 2 * RETRY_S;

/**
 * @typedef {object} PatroniOptions
 * @property {'etcd' | 'etcd3'} api Patroni's name of etcd's API: v2 or v3
 * @property {boolean} synchronous
 * @property {(nodes: readonly ManagedNode[]) => Promise<import('./managed-cluster.mjs').Entrance>} enter how clients find the primary
 */

/**
 * Three nodes with Patroni, and three members of etcd.
 * @param {string} folder
 * @param {PatroniOptions} options
 */
export async function openPatroni(folder, { api, synchronous, enter }) {
  const etcd = await Etcd.start(folder);
  /** @type {ManagedNode[]} */
  const nodes = [];
  /** @type {Map<string, Relay[]>} */
  const links = new Map();
  for (const name of NODES) {
    const ports = { postgres: await freePort(), check: await freePort() };
    const relays = await Promise.all(etcd.members.map(({ port }) => Relay.open(port)));
    links.set(name, relays);
    nodes.push(
      new ManagedNode(name, ports, folder, (own) => {
        const hosts = relays.map(({ port }) => `127.0.0.1:${port}`);
        // Otherwise Patroni asks etcd for the addresses of its members, and goes past the relays.
        const store = { [api]: { hosts, use_proxies: true } };
        const settings = configuration(name, ports, own, synchronous);
        writeFileSync(configurationIn(own), JSON.stringify({ ...settings, ...store }));
        return { command: ['/usr/bin/patroni', configurationIn(own)] };
      }),
    );
  }
  const cluster = new ManagedCluster(nodes, await enter(nodes), new Patroni(folder, nodes, etcd, links, synchronous));
  try {
    // The first one alone creates the database; the others copy it.
    cluster.primary.start();
    await until('Patroni to be the primary', async () => (await roleOf(cluster.primary.url)) === 'primary');
    await cluster.repair();
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return cluster;
}

/** What looks after the nodes: Patroni on each of them, and the etcd that all of them ask. */
export class Patroni {
  etcd;
  #folder;
  #nodes;
  #links;
  #synchronous;

  /**
   * @param {string} folder
   * @param {readonly ManagedNode[]} nodes
   * @param {Etcd} etcd
   * @param {ReadonlyMap<string, readonly Relay[]>} links the way of each node to each member of etcd
   * @param {boolean} synchronous
   */
  constructor(folder, nodes, etcd, links, synchronous) {
    this.etcd = etcd;
    this.#folder = folder;
    this.#nodes = nodes;
    this.#links = links;
    this.#synchronous = synchronous;
  }

  /** From now on this node cannot reach etcd. @param {ManagedNode} node @param {'silent' | 'reset'} how */
  cutOff({ name }, how) {
    for (const relay of this.#links.get(name) ?? []) relay.cut(how);
  }

  /** Between two rounds of its Patroni. What etcd sends to it meanwhile arrives with `restore()`. @param {ManagedNode} node */
  async freeze(node) {
    const rounds = () => node.log().split('no action.').length;
    const before = rounds();
    await until(`a round of Patroni on ${node.name}`, async () => rounds() > before);
    for (const relay of this.#links.get(node.name) ?? []) relay.freeze();
    node.freeze();
  }

  /** @param {ManagedNode} node */
  thaw(node) {
    for (const relay of this.#links.get(node.name) ?? []) relay.thaw();
    node.thaw();
  }

  restore() {
    for (const relay of [...this.#links.values()].flat()) relay.restore();
  }

  /** As an operator does it. @param {ManagedNode} from */
  async switchOver(from) {
    const candidates = await this.#members();
    const to = candidates.find(({ role }) => role === (this.#synchronous ? 'sync_standby' : 'replica'));
    if (!to) throw new Error(`No node can take the place of ${from.name}: ${JSON.stringify(candidates)}`);
    const file = configurationIn(join(this.#folder, from.name));
    await run('/usr/bin/patronictl', ['-c', file, 'switchover', SCOPE, '--candidate', to.name, '--force']);
  }

  /** Changes the settings that all nodes share. @param {Record<string, unknown>} settings */
  async configure(settings) {
    const response = await fetch(this.#api('/config'), { method: 'PATCH', body: JSON.stringify(settings) });
    if (!response.ok) throw new Error(`Patroni refused ${JSON.stringify(settings)}: ${await response.text()}`);
  }

  /** Patroni promotes only the node that etcd has as the synchronous standby, which it stores after PostgreSQL says so. */
  async isSafe() {
    try {
      const members = await this.#members();
      const leader = members.find(({ role }) => role === 'leader');
      const isReady = !this.#synchronous || members.some(({ role }) => role === 'sync_standby');
      return isReady && (await this.#standbysOf(leader?.name)) === this.#nodes.length - 1;
    } catch {
      // A node is starting.
      return false;
    }
  }

  async close() {
    for (const relay of [...this.#links.values()].flat()) relay.close();
    await this.etcd.close();
  }

  /** How many have what the node has: one that is a standby again may still have to take back what only it stored. @param {string} [name] */
  async #standbysOf(name) {
    const node = this.#nodes.find((one) => one.name === name);
    return (await node?.query(`SELECT FROM pg_stat_replication WHERE state = 'streaming'`))?.length;
  }

  /** @returns {Promise<{ name: string, role: string, state: string }[]>} */
  async #members() {
    const response = await fetch(this.#api('/cluster'));
    return /** @type {any} */ (await response.json()).members;
  }

  /** @param {string} path */
  #api(path) {
    return `http://127.0.0.1:${this.#nodes[0]?.ports.check}${path}`;
  }
}

const SCOPE = 'ambit';

/** @param {string} folder of a node */
function configurationIn(folder) {
  return join(folder, 'patroni.json');
}

/**
 * @param {string} name
 * @param {import('./managed-node.mjs').Ports} ports
 * @param {string} folder
 * @param {boolean} synchronous
 */
function configuration(name, ports, folder, synchronous) {
  const rest = `127.0.0.1:${ports.check}`;
  const address = `127.0.0.1:${ports.postgres}`;
  return {
    scope: SCOPE,
    name,
    restapi: { listen: rest, connect_address: rest },
    bootstrap: {
      dcs: { ttl: TTL_S, loop_wait: LOOP_S, retry_timeout: RETRY_S, synchronous_mode: synchronous },
      initdb: [{ encoding: 'UTF8' }, { auth: 'trust' }, 'no-sync'],
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust', 'local all all trust'],
    },
    postgresql: {
      listen: address,
      connect_address: address,
      data_dir: join(folder, 'data'),
      bin_dir: postgresBinaries(),
      pgpass: join(folder, 'pgpass'),
      authentication: { superuser: { username: 'postgres' }, replication: { username: 'replicator' } },
      // Otherwise a copy begins with a checkpoint that takes half a minute.
      basebackup: [{ checkpoint: 'fast' }],
      parameters: { unix_socket_directories: folder },
      // A node that has what no other has takes it back, or is copied again where it cannot.
      use_pg_rewind: true,
      remove_data_directory_on_rewind_failure: true,
    },
  };
}
