import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, start, stop, until } from '../chaos/support/program.mjs';
import { Balancer } from './balancer.mjs';
import { ManagedCluster } from './managed-cluster.mjs';
import { ManagedNode } from './managed-node.mjs';

/** Seconds without a renewal after which another node may be the leader. */
const TTL = 5;
const NODES = ['db-1', 'db-2', 'db-3'];

/**
 * Three nodes with Patroni, synchronous replication, and one etcd.
 * @param {string} folder
 * @param {import('./postgres-node.mjs').Programs} programs
 * @param {'etcd' | 'etcd3'} api Patroni's name of etcd's API: v2 or v3
 */
export async function openPatroni(folder, programs, api) {
  const etcd = await startEtcd(folder);
  /** @type {ManagedNode[]} */
  const nodes = [];
  for (const name of NODES) {
    const ports = { postgres: await freePort(), check: await freePort() };
    nodes.push(
      new ManagedNode(name, ports, folder, programs, (own) => {
        const file = join(own, 'patroni.json');
        writeFileSync(
          file,
          JSON.stringify(configuration(name, ports, own, programs.bin, { [api]: { host: new URL(etcd.url).host } })),
        );
        return { command: ['/usr/bin/patroni', file] };
      }),
    );
  }
  const balancer = await Balancer.open(
    folder,
    nodes.map(({ name, ports }) => ({ name, ...ports })),
    'GET /primary',
  );
  const cluster = new ManagedCluster(nodes, balancer, {
    isSafe: () => isSafe(nodes),
    close: () => stop(etcd.program),
  });
  try {
    // The first one alone creates the database; the others copy it.
    cluster.primary.start();
    await until('Patroni to be the primary', async () =>
      (await balancer.statusOf(cluster.primary.name)).startsWith('UP'),
    );
    await cluster.repair();
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return cluster;
}

/**
 * Patroni promotes only the node that etcd has as the synchronous standby, which it stores after PostgreSQL says so.
 * @param {readonly ManagedNode[]} nodes
 */
async function isSafe(nodes) {
  const [{ ports } = { ports: { check: 0 } }] = nodes;
  try {
    const response = await fetch(`http://127.0.0.1:${ports.check}/cluster`);
    const { members } = /** @type {{ members: { role: string, state: string }[] }} */ (await response.json());
    const roles = members.filter(({ state }) => /^(?:running|streaming)$/.test(state)).map(({ role }) => role);
    return roles.length === nodes.length && roles.includes('leader') && roles.includes('sync_standby');
  } catch {
    // Its agent is starting.
    return false;
  }
}

/** @param {string} folder */
async function startEtcd(folder) {
  const [url, peer] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const data = join(folder, 'etcd');
  mkdirSync(data);
  const own = ['--data-dir', data, '--listen-client-urls', url, '--advertise-client-urls', url];
  const peers = [
    '--listen-peer-urls',
    peer,
    '--initial-advertise-peer-urls',
    peer,
    '--initial-cluster',
    `default=${peer}`,
  ];
  const program = await start('etcd', ['--enable-v2', ...own, ...peers], /ready to serve client requests/);
  return { program, url };
}

/**
 * @param {string} name
 * @param {import('./managed-node.mjs').Ports} ports
 * @param {string} folder
 * @param {string} bin
 * @param {object} store where the leader key is
 */
function configuration(name, ports, folder, bin, store) {
  const rest = `127.0.0.1:${ports.check}`;
  const address = `127.0.0.1:${ports.postgres}`;
  return {
    scope: 'ambit',
    name,
    restapi: { listen: rest, connect_address: rest },
    ...store,
    bootstrap: {
      dcs: { ttl: TTL, loop_wait: 1, retry_timeout: 3, synchronous_mode: true },
      initdb: [{ encoding: 'UTF8' }, { auth: 'trust' }, 'no-sync'],
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust', 'local all all trust'],
    },
    postgresql: {
      listen: address,
      connect_address: address,
      data_dir: join(folder, 'data'),
      bin_dir: bin,
      pgpass: join(folder, 'pgpass'),
      authentication: { superuser: { username: 'postgres' }, replication: { username: 'replicator' } },
      // Otherwise a copy begins with a checkpoint that takes half a minute.
      basebackup: [{ checkpoint: 'fast' }],
      parameters: { unix_socket_directories: folder },
      // A node that has what no other has is copied again.
      remove_data_directory_on_diverged_timelines: true,
    },
  };
}
