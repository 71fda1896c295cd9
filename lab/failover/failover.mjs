/**
 * Takes the primary of PostgreSQL away in several ways, while an Express and a Fastify instance get orders and users, and then checks that
 * everything acknowledged is stored: `[pair] [--only <part of a name>]`. It exits with 1 when anything is lost. Instead of `pair`, a primary
 * and a synchronous standby: `pgbouncer`, and the control, in which something is lost: `asynchronous`.
 */
import { parseArgs } from 'node:util';
import { startPgBouncer } from '../kit/pgbouncer.mjs';
import { need, stop, temporaryFolder } from '../kit/program.mjs';
import { report, say, table } from '../kit/report.mjs';
import { FAULTS } from './faults.mjs';
import { Pair } from './pair.mjs';
import { headOf, Trial } from './trial.mjs';

const HOSTS = /** @type {const} */ (['express', 'fastify']);
const SETUPS = ['pair', 'pgbouncer', 'asynchronous'];

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string', default: '' } },
});
const [setup = 'pair'] = positionals;
if (!SETUPS.includes(setup)) throw new Error(`No setup named ${setup}. The setups: ${SETUPS.join(', ')}`);

need('haproxy');
const folder = temporaryFolder('failover');
const pair = await Pair.open(folder, setup !== 'asynchronous');
/** @type {(string | number)[][]} */
const rows = [];
/** @type {Trial<Pair> | undefined} */
let trial;
/** @type {import('../kit/program.mjs').Program | undefined} */
let pooler;
try {
  let env = { DATABASE_URL: pair.url, DATABASE_PREPARE: 'true' };
  if (setup === 'pgbouncer') {
    need('pgbouncer');
    const { program, port, tracksStatements } = await startPgBouncer(folder, new URL(pair.url), pair.balancer.port);
    pooler = program;
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    env = { DATABASE_URL: url, DATABASE_PREPARE: String(tracksStatements) };
  }
  const instances = HOSTS.map((host) => ({ host, env }));
  trial = await Trial.start(pair, instances, () => pair.primary);
  for (const [name, inflict] of Object.entries(FAULTS).filter(([key]) => key.includes(options.only))) {
    await pair.repair();
    const row = await trial.suffer(name, inflict);
    say(row.join(' | '));
    rows.push(row);
  }
} finally {
  await trial?.close();
  if (pooler) await stop(pooler);
  await pair.close();
}
report(table(headOf(HOSTS), rows), trial.findings.reported);
