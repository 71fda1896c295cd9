/**
 * Takes nodes of a MariaDB Galera cluster away in several ways, while three instances of the service, each on a node of its own,
 * get orders and users, and then checks that everything acknowledged is stored, on every node: `node service/failover/galera.mjs
 * [--short] [--only <part of a name>] [--transfer mariabackup] [--flush 0] [--write]`. It exits with 1 when anything is lost, as
 * it is with `--flush 0`, the control.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { report, say, table } from '../chaos/support/report.mjs';
import { GaleraCluster, installGalera, seconds } from './galera-cluster.mjs';
import { FAULTS, SHORT_FAULTS } from './galera-faults.mjs';
import { headOf, Trial } from './trial.mjs';

/** Of each instance. With more, most transactions are undone by those of other nodes. */
const CLIENTS = 8;
const HOSTS = /** @type {const} */ (['express', 'fastify', 'express']);

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    transfer: { type: 'string', default: 'rsync' },
    flush: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
  },
});
const transfer = options.transfer === 'mariabackup' ? 'mariabackup' : 'rsync';
const flush = options.flush === '0' ? 0 : 1;
const faults = Object.entries(options.short ? SHORT_FAULTS : FAULTS).filter(([name]) => name.includes(options.only));

installGalera(transfer);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
const folder = mkdtempSync(join(tmpdir(), 'ambit-galera-'));
// MariaDB has a folder in it, and runs as another user.
chmodSync(folder, 0o755);
try {
  const start = performance.now();
  const cluster = await GaleraCluster.open(folder, { transfer, flush });
  say(`three nodes after ${seconds(performance.now() - start)}`);
  const { rows, violations } = await suffer(cluster);
  const head = headOf(HOSTS.map((host, index) => `${host} on db-${index + 1}`));
  report('galera', table(head, rows), violations, options.write, 'docs/service/galera.md');
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @param {GaleraCluster} cluster which is closed afterwards */
async function suffer(cluster) {
  const instances = HOSTS.map((host, index) => ({ host, env: { DATABASE_URL: cluster.node(index + 1).url } }));
  /** @type {(string | number)[][]} */
  const rows = [];
  /** @type {string[]} */
  const violations = [];
  /** @type {Trial<GaleraCluster> | undefined} */
  let trial;
  try {
    trial = await Trial.start(cluster, instances, () => cluster, CLIENTS);
    for (const [name, fault] of faults) {
      await cluster.repair();
      const row = await trial.suffer(name, fault);
      for (const what of await cluster.differences()) violations.push(`${name}: ${what} differs between the nodes`);
      say(row.join(' | '));
      rows.push(row);
    }
  } finally {
    await trial?.close();
    await cluster.close();
  }
  return { rows, violations: [...trial.findings.reported, ...violations] };
}
