/**
 * Takes the primary of PostgreSQL away in several ways, while an Express and a Fastify instance get orders and users, and then checks that
 * everything acknowledged is stored: `[pair] [--only <part of a name>]`. It exits with 1 when anything is lost. Instead of `pair`, a primary
 * and a synchronous standby: `pgbouncer`, `patroni`, three nodes with three members of etcd, `patroni-haproxy`; and the controls, in which
 * something is lost: `asynchronous`, `patroni-asynchronous`, and `patroni-etcd-v3` with Patroni 3.0.2.
 */
import { parseArgs } from 'node:util';
import { Balancer } from '../kit/haproxy.mjs';
import { startPgBouncer } from '../kit/pgbouncer.mjs';
import { need, stop, temporaryFolder } from '../kit/program.mjs';
import { report, say, table } from '../kit/report.mjs';
import { Addresses } from './managed-cluster.mjs';
import { PAIR_FAULTS } from './pair-faults.mjs';
import { Pair } from './pair.mjs';
import { PATRONI_BALANCER_FAULTS, PATRONI_FAULTS } from './patroni-faults.mjs';
import { openPatroni } from './patroni.mjs';
import { headOf, Trial } from './trial.mjs';

const HOSTS = /** @type {const} */ (['express', 'fastify']);
/** @typedef {import('./managed-node.mjs').ManagedNode} ManagedNode */

/** What the service can run on. @type {Record<string, () => Promise<void>>} */
const SETUPS = {
  pair: async () => run(await openPair(true), PAIR_FAULTS),
  asynchronous: async () => run(await openPair(false), PAIR_FAULTS),
  pgbouncer: async () => {
    need('pgbouncer');
    const pair = await openPair(true);
    const pooler = await startPgBouncer(folder, new URL(pair.url), pair.balancer.port);
    const url = `postgres://postgres@127.0.0.1:${pooler.port}/postgres`;
    await run(pair, PAIR_FAULTS, { DATABASE_URL: url, DATABASE_PREPARE: String(pooler.tracksStatements) });
    await stop(pooler.program);
  },
  patroni: () => onPatroni({}, PATRONI_FAULTS),
  'patroni-haproxy': () => {
    need('haproxy');
    const enter = (/** @type {readonly ManagedNode[]} */ nodes) => {
      const servers = nodes.map(({ name, ports }) => ({ name, ...ports }));
      return Balancer.open(folder, servers, 'GET /primary');
    };
    return onPatroni({ enter }, PATRONI_BALANCER_FAULTS);
  },
  // Debian 12 has Patroni 3.0.2, whose thawed primary can overwrite the leader key with etcd's v3 API.
  'patroni-etcd-v3': () => onPatroni({ api: 'etcd3' }, PATRONI_FAULTS),
  'patroni-asynchronous': () => onPatroni({ synchronous: false }, PATRONI_FAULTS),
};

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string', default: '' } },
});
const [name = 'pair'] = positionals;
const setup = SETUPS[name];
if (!setup) throw new Error(`No setup named ${name}. The setups: ${Object.keys(SETUPS).join(', ')}`);
const folder = temporaryFolder('failover');
await setup();

/** @param {boolean} synchronous */
function openPair(synchronous) {
  need('haproxy');
  return Pair.open(folder, synchronous);
}

/**
 * @param {Partial<import('./patroni.mjs').PatroniOptions>} changed
 * @param {Record<string, import('./faults.mjs').Fault<import('./patroni-faults.mjs').Cluster>>} faults
 */
async function onPatroni(changed, faults) {
  need('etcd', ['etcd-server']);
  need('patroni', ['patroni', 'python3-etcd']);
  const enter = async (/** @type {readonly ManagedNode[]} */ nodes) => new Addresses(nodes);
  await run(await openPatroni(folder, { api: 'etcd', synchronous: true, enter, ...changed }), faults);
}

/**
 * @template {import('./faults.mjs').Cluster} C
 * @param {C} cluster
 * @param {Record<string, import('./faults.mjs').Fault<C>>} faults
 * @param {Record<string, string>} [env] of the service
 */
async function run(cluster, faults, env = { DATABASE_URL: cluster.url }) {
  /** @type {(string | number)[][]} */
  const rows = [];
  const instances = HOSTS.map((host) => ({ host, env }));
  /** @type {Trial<C> | undefined} */
  let trial;
  try {
    trial = await Trial.start(cluster, instances, () => cluster.primary);
    for (const [fault, inflict] of Object.entries(faults).filter(([key]) => key.includes(options.only))) {
      await cluster.repair();
      const row = await trial.suffer(fault, inflict);
      say(row.join(' | '));
      rows.push(row);
    }
  } finally {
    await trial?.close();
    await cluster.close();
  }
  report(table(headOf(HOSTS), rows), trial.findings.reported);
}
