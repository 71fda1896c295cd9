/**
 * Takes nodes of a MariaDB Galera cluster away in several ways, while three instances of the service, each on a node of its own, get
 * orders and users, and then checks that everything acknowledged is stored, on every node: `[--short] [--only <part of a name>]
 * [--transfer mariabackup] [--flush 0]`. It exits with 1 when anything is lost, as it is with `--flush 0`, the control.
 */
import { parseArgs } from 'node:util';
import { stopwatch, temporaryFolder } from '../kit/program.mjs';
import { report, say, table } from '../kit/report.mjs';
import { GaleraCluster, installGalera } from './galera-cluster.mjs';
import { FAULTS, SHORT_FAULTS } from './galera-faults.mjs';
import { headOf, Trial } from './trial.mjs';

/** Clients of each instance. With more, most transactions are undone by those of other nodes. */
const CLIENTS = 8;
const HOSTS = /** @type {const} */ (['express', 'fastify', 'express']);

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    transfer: { type: 'string', default: 'rsync' },
    flush: { type: 'string', default: '1' },
  },
});
const transfer = options.transfer === 'mariabackup' ? 'mariabackup' : 'rsync';
const flush = options.flush === '0' ? 0 : 1;
const faults = Object.entries(options.short ? SHORT_FAULTS : FAULTS).filter(([name]) => name.includes(options.only));

installGalera(transfer);
const since = stopwatch();
const cluster = await GaleraCluster.open(temporaryFolder('galera'), { transfer, flush });
say(`three nodes after ${since()} s`);
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
const head = headOf(HOSTS.map((host, index) => `${host} on db-${index + 1}`));
report(table(head, rows), [...trial.findings.reported, ...violations]);
