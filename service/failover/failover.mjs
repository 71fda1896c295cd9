/**
 * Takes the primary of PostgreSQL away in several ways, while an Express and a Fastify instance get orders and users, and
 * then checks that everything acknowledged is stored: `node service/failover/failover.mjs [pair] [--only <part of a name>]
 * [--write]`. It exits with 1 when anything is lost. Instead of `pair`, a primary and a synchronous standby: `pgbouncer`,
 * `postgres-18`, `pg_auto_failover`, `patroni`, three nodes with three members of etcd, `patroni-haproxy`; and the controls, in which something is lost:
 * `asynchronous`, `patroni-asynchronous`, and `patroni-etcd-v3` with Patroni 3.0.2.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { report, say, table } from '../chaos/support/report.mjs';
import { SETUPS } from './setups.mjs';
import { HEAD } from './trial.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string', default: '' }, write: { type: 'boolean', default: false } },
});
const [name = 'pair'] = positionals;
const setup = SETUPS[name];
if (!setup) throw new Error(`No setup named ${name}. The setups: ${Object.keys(SETUPS).join(', ')}`);

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
const folder = mkdtempSync(join(tmpdir(), 'ambit-failover-'));
// PostgreSQL has a folder in it, and runs as another user.
chmodSync(folder, 0o755);
/** @type {(string | number)[][]} */
const rows = [];
try {
  const violations = await setup(folder, options.only, (row) => {
    say(row.join(' | '));
    rows.push(row);
  });
  report(`failover ${name}`, table(HEAD, rows), violations, options.write, 'docs/service/failover.md');
} finally {
  rmSync(folder, { recursive: true, force: true });
}
