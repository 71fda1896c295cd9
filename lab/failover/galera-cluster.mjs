import { setTimeout as pause } from 'node:timers/promises';
import { need, stopwatch, until } from '../kit/program.mjs';
import { Network } from './galera-network.mjs';
import { GaleraNode } from './galera-node.mjs';

const NODES = 3;
const PROVIDER = '/usr/lib/galera/libgalera_smm.so';
/** A node that was silent for so long may be excluded; the default is 5 s. */
const SUSPECT_S = 2;
/** A node is excluded even if the others do not agree; the default is 15 s. */
const INACTIVE_S = 5;
/** A new node gets everything from another one, also on a busy machine. */
const JOIN_MS = 120_000;

/**
 * @typedef {object} GaleraOptions
 * @property {'rsync' | 'mariabackup'} [transfer] how a node that is too far behind gets everything
 * @property {0 | 1 | 2} [flush] `innodb_flush_log_at_trx_commit`
 */

/** Three MariaDB servers that all take writes. */
export class GaleraCluster {
  network;
  nodes;

  /** @param {Network} network @param {readonly GaleraNode[]} nodes */
  constructor(network, nodes) {
    this.network = network;
    this.nodes = nodes;
  }

  /** @param {string} folder @param {GaleraOptions} [options] */
  static async open(folder, options = {}) {
    const network = await Network.open(NODES);
    const numbers = Array.from({ length: NODES }, (_, index) => index + 1);
    const settings = settingsOf(
      numbers.map((number) => network.peerAddress(number)),
      options,
    );
    const cluster = new GaleraCluster(
      network,
      numbers.map((number) => new GaleraNode(number, folder, network, settings)),
    );
    try {
      await cluster.#create();
    } catch (error) {
      await cluster.close();
      throw error;
    }
    return cluster;
  }

  async #create() {
    const [first, ...others] = this.nodes;
    if (!first) throw new Error('A cluster has nodes');
    await first.install();
    await first.bootstrap();
    await until('the first node to be ready', () => isReady(first.administer), JOIN_MS);
    await first.administer("CREATE USER root@'%'");
    await first.administer("GRANT ALL ON *.* TO root@'%'");
    await first.administer('CREATE DATABASE ambit CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin');
    for (const node of others) await this.join(node);
  }

  /** @param {number} number */
  node(number) {
    const node = this.nodes[number - 1];
    if (!node) throw new Error(`There is no node ${number}`);
    return node;
  }

  /** Directly, on a node that is part of the cluster. */
  get query() {
    const [first] = this.nodes;
    if (!first) throw new Error('A cluster has nodes');
    return first.query;
  }

  /** Starts the node; returns how it got what it had missed, and when it was there. @param {GaleraNode} node */
  async join(node) {
    const since = stopwatch();
    await node.start();
    await this.synced(node);
    return `${node.transfer} in ${since()} s`;
  }

  /** @param {GaleraNode} node */
  async synced(node) {
    await until(
      `${node.name} to be synced`,
      async () => {
        if (!node.runs) throw new Error(`${node.name} has exited`);
        return (await node.status('wsrep_local_state_comment')) === 'Synced' && (await isReady(node.query));
      },
      JOIN_MS,
    );
  }

  /** The others no longer count it. @param {GaleraNode} node */
  async excluded(node) {
    const others = this.nodes.filter((other) => other !== node);
    await until(`${node.name} to be excluded`, async () => {
      const sizes = await Promise.all(others.map((other) => other.status('wsrep_cluster_size')));
      return sizes.every((size) => size === String(others.length));
    });
  }

  /** It refuses everything: it is not part of a majority. @param {GaleraNode} node */
  async refusing(node) {
    await until(`${node.name} to refuse`, async () => (await node.status('wsrep_ready')) === 'OFF');
  }

  /** Every node is there, and has everything. */
  async repair() {
    for (const node of this.nodes) {
      if (!node.runs) await node.start();
      await this.synced(node);
    }
    await until('the nodes to be one cluster', async () => {
      const sizes = await Promise.all(this.nodes.map((node) => node.status('wsrep_cluster_size')));
      return sizes.every((size) => size === String(this.nodes.length));
    });
  }

  /** Tables whose rows differ between the nodes, which nothing may change meanwhile. */
  async differences() {
    const tables = (await this.query('SHOW TABLES')).map((row) => String(Object.values(row)[0]));
    const sums = await Promise.all(
      this.nodes.map(async ({ query }) => {
        await query('SELECT COUNT(*) FROM migrations');
        return query(`CHECKSUM TABLE ${tables.join(', ')}`);
      }),
    );
    return tables.filter((_, index) => new Set(sums.map((rows) => rows[index]?.['Checksum'])).size > 1);
  }

  async close() {
    for (const node of this.nodes) node.kill();
    await Promise.all(this.nodes.map((node) => node.exited()));
    this.network.close();
    // The kernel removes the namespaces a moment later.
    await pause(100);
  }
}

/** @param {import('../kit/databases.mjs').Database['query']} query */
async function isReady(query) {
  try {
    const [row] = await query("SHOW GLOBAL STATUS LIKE 'wsrep_ready'");
    return row?.['Value'] === 'ON';
  } catch {
    // It starts.
    return false;
  }
}

/**
 * @param {readonly string[]} addresses
 * @param {GaleraOptions} options
 */
function settingsOf(addresses, { transfer = 'rsync', flush = 1 }) {
  const provider = {
    'evs.keepalive_period': 'PT0.5S',
    'evs.suspect_timeout': `PT${SUSPECT_S}S`,
    'evs.inactive_timeout': `PT${INACTIVE_S}S`,
    'evs.install_timeout': `PT${INACTIVE_S}S`,
    'gcache.size': '64M',
  };
  return {
    'bind-address': '0.0.0.0',
    'skip-name-resolve': 1,
    'max-connections': 150,
    'performance-schema': 'OFF',
    'innodb-buffer-pool-size': '64M',
    'innodb-log-file-size': '48M',
    'innodb-flush-log-at-trx-commit': flush,
    'innodb-autoinc-lock-mode': 2,
    'binlog-format': 'ROW',
    'wsrep-on': 'ON',
    'wsrep-slave-threads': 4,
    'wsrep-provider': PROVIDER,
    'wsrep-provider-options': `"${Object.entries(provider)
      .map((option) => option.join('='))
      .join('; ')}"`,
    'wsrep-cluster-name': 'ambit',
    'wsrep-cluster-address': `gcomm://${addresses.join(',')}`,
    'wsrep-sst-method': transfer,
    'wsrep-sst-auth': 'root:',
  };
}

const RSYNC = { mariadbd: ['mariadb-server', 'galera-4'], ip: ['iproute2'], rsync: ['rsync'] };
const MARIABACKUP = { mariabackup: ['mariadb-backup'], socat: ['socat'] };

/** As root it installs what is missing, from Debian. @param {'rsync' | 'mariabackup'} [transfer] */
export function installGalera(transfer = 'rsync') {
  if (process.getuid?.() !== 0) throw new Error('Only root can make the networks of the nodes');
  const needed = transfer === 'rsync' ? RSYNC : { ...RSYNC, ...MARIABACKUP };
  for (const [program, packages] of Object.entries(needed)) need(program, packages);
}
