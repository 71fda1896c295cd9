import { startPgBouncer } from '../chaos/support/pgbouncer.mjs';
import { ensureInstalled, stop } from '../chaos/support/program.mjs';
import { postgresBinaries, postgresUser } from '../chaos/support/postgres-programs.mjs';
import { openAutoFailover } from './auto-failover.mjs';
import { FAULTS } from './faults.mjs';
import { PAIR_FAULTS } from './pair-faults.mjs';
import { Pair } from './pair.mjs';
import { openPatroni } from './patroni.mjs';
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
  // Debian's Patroni 3.0.2: with etcd's v3 API a thawed primary can overwrite the leader key.
  patroni: async (folder, ...rest) => run(await openPatroni(folder, withPatroni(), 'etcd'), FAULTS, {}, ...rest),
  'patroni-etcd-v3': async (folder, ...rest) =>
    run(await openPatroni(folder, withPatroni(), 'etcd3'), FAULTS, {}, ...rest),
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

function withPatroni() {
  need('haproxy');
  need('etcd', ['etcd-server']);
  need('patroni', ['patroni', 'python3-etcd']);
  return debian();
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
