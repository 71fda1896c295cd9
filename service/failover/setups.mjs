import { startPgBouncer } from '../chaos/support/pgbouncer.mjs';
import { ensureInstalled, stop } from '../chaos/support/program.mjs';
import { postgresBinaries, postgresUser } from '../chaos/support/postgres-programs.mjs';
import { openAutoFailover } from './auto-failover.mjs';
import { Addresses, Balancer } from './balancer.mjs';
import { FAULTS } from './faults.mjs';
import { PAIR_FAULTS } from './pair-faults.mjs';
import { Pair } from './pair.mjs';
import { openPatroni } from './patroni.mjs';
import { PATRONI_BALANCER_FAULTS, PATRONI_FAULTS } from './patroni-faults.mjs';
import { installPostgres18 } from './postgres-18.mjs';
import { Trial } from './trial.mjs';

/**
 * Calls `each` with the name and the row of each fault, and returns the violations.
 * @typedef {(folder: string, only: string, each: (row: (string | number)[]) => void) => Promise<readonly string[]>} Setup
 */

/** What the service can run on. @type {Record<string, Setup>} */
export const SETUPS = {
  pair: async (folder, ...rest) => {
    need('haproxy');
    return run(await Pair.open(folder, debian(), SYNCHRONOUS), PAIR_FAULTS, {}, ...rest);
  },
  asynchronous: async (folder, ...rest) => {
    need('haproxy');
    return run(await Pair.open(folder, debian(), { synchronous: false }), PAIR_FAULTS, {}, ...rest);
  },
  'postgres-18': async (folder, ...rest) => {
    need('haproxy');
    const programs = { bin: installPostgres18(folder), as: postgresUser() };
    return run(await Pair.open(folder, programs, SYNCHRONOUS), PAIR_FAULTS, {}, ...rest);
  },
  pgbouncer: async (folder, ...rest) => {
    need('haproxy');
    need('pgbouncer');
    const pair = await Pair.open(folder, debian(), SYNCHRONOUS);
    const pooler = await startPgBouncer(folder, new URL(pair.url), pair.balancer.port);
    const env = {
      DATABASE_URL: `postgres://postgres@127.0.0.1:${pooler.port}/postgres`,
      DATABASE_PREPARE: String(pooler.tracksStatements),
    };
    try {
      return await run(pair, PAIR_FAULTS, env, ...rest);
    } finally {
      await stop(pooler.program);
    }
  },
  patroni: patroni({}, PATRONI_FAULTS),
  'patroni-haproxy': (folder, ...rest) => {
    need('haproxy');
    const enter = (/** @type {readonly import('./managed-node.mjs').ManagedNode[]} */ nodes) => {
      const servers = nodes.map(({ name, ports }) => ({ name, ...ports }));
      return Balancer.open(folder, servers, 'GET /primary');
    };
    return patroni({ enter }, PATRONI_BALANCER_FAULTS)(folder, ...rest);
  },
  // Debian 12 has Patroni 3.0.2, whose thawed primary can overwrite the leader key with etcd's v3 API.
  'patroni-etcd-v3': patroni({ api: 'etcd3' }, PATRONI_FAULTS),
  'patroni-asynchronous': patroni({ synchronous: false }, PATRONI_FAULTS),
  pg_auto_failover: async (folder, ...rest) => {
    need('haproxy');
    need('pg_autoctl', ['pg-auto-failover-cli', 'postgresql-15-auto-failover']);
    return run(await openAutoFailover(folder, debian()), FAULTS, {}, ...rest);
  },
};

const SYNCHRONOUS = { synchronous: true };

/** @returns {import('./postgres-node.mjs').Programs} */
function debian() {
  if (!process.env['PGBIN']) need('pg_ctlcluster', ['postgresql']);
  return { bin: postgresBinaries(), as: postgresUser() };
}

/**
 * @param {Partial<import('./patroni.mjs').PatroniOptions>} options
 * @param {Record<string, import('./faults.mjs').Fault<import('./patroni-faults.mjs').Cluster>>} faults
 * @returns {Setup}
 */
function patroni(options, faults) {
  return async (folder, ...rest) => {
    need('etcd', ['etcd-server']);
    need('patroni', ['patroni', 'python3-etcd']);
    const enter = async (/** @type {readonly import('./managed-node.mjs').ManagedNode[]} */ nodes) =>
      new Addresses(nodes);
    const cluster = await openPatroni(folder, debian(), { api: 'etcd', synchronous: true, enter, ...options });
    return run(cluster, faults, {}, ...rest);
  };
}

/** @param {string} program @param {readonly string[]} [packages] */
function need(program, packages) {
  if (!ensureInstalled(program, packages)) throw new Error(`${program} is needed, and cannot be installed here`);
}

/**
 * @template {import('./faults.mjs').Cluster} C
 * @param {C} cluster
 * @param {Record<string, import('./faults.mjs').Fault<C>>} faults
 * @param {Record<string, string>} env of the service
 * @param {string} only
 * @param {(row: (string | number)[]) => void} each
 */
async function run(cluster, faults, env, only, each) {
  /** @type {Trial<C> | undefined} */
  let trial;
  try {
    trial = await Trial.open(cluster, env);
    for (const [name, fault] of Object.entries(faults).filter(([key]) => key.includes(only))) {
      await cluster.repair();
      each(await trial.suffer(name, fault));
    }
  } finally {
    await trial?.close();
    await cluster.close();
  }
  return trial.findings.reported;
}
