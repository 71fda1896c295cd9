import { execFile } from 'node:child_process';
import { appendFileSync, chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, until } from '../chaos/support/program.mjs';
import { postgresQuery } from '../chaos/support/databases/postgres.mjs';
import { Balancer } from './balancer.mjs';
import { ManagedCluster } from './managed-cluster.mjs';
import { ManagedNode } from './managed-node.mjs';

const run = promisify(execFile);
const NODES = ['db-1', 'db-2'];
const COMMON = ['--auth', 'trust', '--no-ssl', '--hostname', '127.0.0.1'];
/** The nodes that need nothing from the monitor. */
const SETTLED = `SELECT FROM pgautofailover.node
  WHERE reportedstate = goalstate AND reportedstate IN ('primary', 'secondary') AND health = 1`;
/** The defaults are 20 s. */
const MONITOR_SETTINGS = [
  'pgautofailover.health_check_period = 500',
  'pgautofailover.health_check_timeout = 1000',
  'pgautofailover.health_check_max_retries = 1',
  'pgautofailover.health_check_retry_delay = 500',
  'pgautofailover.node_considered_unhealthy_timeout = 3000',
  'pgautofailover.startup_grace_period = 1000',
  'pgautofailover.primary_demote_timeout = 3000',
];

/**
 * Two nodes and a monitor of pg_auto_failover, with synchronous replication.
 * @param {string} folder
 * @param {import('./postgres-node.mjs').Programs} programs
 */
export async function openAutoFailover(folder, programs) {
  const home = join(folder, 'home');
  mkdirSync(home);
  const { uid, gid } = programs.as;
  if (uid !== undefined && gid !== undefined) chownSync(home, uid, gid);
  const env = {
    ...process.env,
    PATH: `${programs.bin}:${process.env['PATH']}`,
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_DATA_HOME: join(home, 'share'),
    XDG_RUNTIME_DIR: join(home, 'run'),
  };
  const agentOf = (/** @type {string} */ own) => ({
    command: ['/usr/bin/pg_autoctl', 'run', '--pgdata', join(own, 'data')],
    env,
  });
  const create = (/** @type {string} */ name, /** @type {string[]} */ ...args) =>
    run('/usr/bin/pg_autoctl', ['create', ...args, '--pgdata', join(folder, name, 'data'), ...COMMON], {
      ...programs.as,
      cwd: join(folder, name),
      env,
    });
  const nodeOf = async (/** @type {string} */ name) => {
    const port = await freePort();
    return new ManagedNode(name, { postgres: port, check: port }, folder, programs, agentOf);
  };

  const monitor = await nodeOf('monitor');
  await create('monitor', 'monitor', '--pgport', String(monitor.ports.postgres));
  appendFileSync(join(folder, 'monitor', 'data', 'postgresql.conf'), `\n${MONITOR_SETTINGS.join('\n')}\n`);
  monitor.start();
  const database = `127.0.0.1:${monitor.ports.postgres}/pg_auto_failover`;
  const ask = postgresQuery(`postgres://postgres@${database}`);
  await until('the monitor', () => responds(ask, 'SELECT'));

  const uri = `postgres://autoctl_node@${database}`;
  const nodes = [];
  for (const name of NODES) {
    const node = await nodeOf(name);
    nodes.push(node);
    await create(name, 'postgres', '--monitor', uri, '--name', name, '--pgport', String(node.ports.postgres));
    node.start();
    if (name === NODES[0]) {
      await until('the first node', () => responds(node.query, 'CREATE ROLE haproxy_check LOGIN'));
    }
  }
  const balancer = await Balancer.open(
    folder,
    nodes.map(({ name, ports }) => ({ name, ...ports })),
  );
  const cluster = new ManagedCluster(nodes, balancer, {
    isSafe: async () => (await ask(SETTLED)).length === nodes.length,
    close: () => monitor.kill(),
  });
  try {
    await cluster.repair();
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return cluster;
}

/** @param {ManagedNode['query']} query @param {string} sql */
function responds(query, sql) {
  return query(sql).then(
    () => true,
    () => false,
  );
}
