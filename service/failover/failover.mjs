/**
 * Takes the primary of PostgreSQL away in several ways, while an Express and a Fastify instance get orders and users, and
 * then checks that everything acknowledged is stored: `node service/failover/failover.mjs [--only <name>] [--asynchronous]`.
 * It ends with 1 when anything is lost. `--asynchronous` is the control, in which something is.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureInstalled } from '../../scripts/instances/program.mjs';
import { postgresBinaries, postgresUser } from '../chaos/support/postgres-programs.mjs';
import { report, say, table } from '../chaos/support/report.mjs';
import { PAIR_FAULTS } from './pair-faults.mjs';
import { Pair } from './pair.mjs';
import { HEAD, Trial } from './trial.mjs';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    asynchronous: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
if (!ensureInstalled('haproxy')) throw new Error('haproxy is needed, and cannot be installed here');
const folder = mkdtempSync(join(tmpdir(), 'ambit-failover-'));
// PostgreSQL has a folder in it, and runs as another user.
chmodSync(folder, 0o755);
const programs = { bin: postgresBinaries(), as: postgresUser() };
const pair = await Pair.open(folder, programs, { synchronous: !options.asynchronous });
/** @type {(string | number)[][]} */
const rows = [];
/** @type {Trial<Pair> | undefined} */
let trial;
try {
  trial = await Trial.open(pair, {});
  for (const [name, fault] of Object.entries(PAIR_FAULTS)) {
    if (!name.includes(options.only)) continue;
    say(name);
    rows.push(await trial.suffer(name, fault));
    await pair.repair();
  }
} finally {
  await trial?.close();
  await pair.close();
  rmSync(folder, { recursive: true, force: true });
}
report('outages', table(HEAD, rows), trial.findings.reported, options.write, 'docs/guides/failover.md');
