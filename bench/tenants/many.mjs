/**
 * What one more tenant costs: `node --expose-gc bench/tenants/many.mjs [--tenants 200]`. It creates so many databases, opens each
 * in this process as an instance does, and changes and dumps all of them. About 8 MB of disk and half a second for each.
 */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { runInTransaction } from '@ambit/transaction';
import { createTenant } from '../../examples/dist/tenants/create-tenant.js';
import { Shop } from '../../examples/dist/tenants/shop.js';
import { asOwner, databaseOf } from '../../examples/dist/tenants/tenant-database.js';
import { percentile } from '../shared/load.mjs';
import { run } from '../shared/postgres.mjs';
import { progress } from '../shared/progress.mjs';
import { table } from '../shared/table.mjs';
import { cpuOfServer, memoryOfServer, startPrimaries } from './primaries.mjs';

const { values: options } = parseArgs({ options: { tenants: { type: 'string', default: '200' } } });
const count = Number(options.tenants);
const names = Array.from({ length: count }, (_, number) => `t${number}`);
const DUMPED = 10;

const primaries = await startPrimaries(1);
const [server] = primaries.servers;
const rows = [];
try {
  await timed('create a tenant', names, (name) => createTenant(primaries.directory, name, 'p1', { tea: 1_000_000 }));
  const [{ bytes }] = await run(
    server.url,
    "SELECT avg(pg_database_size(datname))::float8 AS bytes FROM pg_database WHERE datname LIKE 'shop_%'",
  );
  note('disk of a tenant without orders', `${(bytes / 1e6).toFixed(1)} MB`);
  await timed('find a tenant in the directory', names, (name) => primaries.directory.find(name));

  const shop = new Shop({ directoryUrl: primaries.directoryUrl, capacity: count });
  const order = async (name) => {
    const request = (await shop.scopeFor({ headers: { 'x-tenant': name } })).createScope({ tags: ['request'] });
    try {
      await runInTransaction(request, (inner) =>
        inner.resolve('IOrders').place({ id: crypto.randomUUID(), product: 'tea', quantity: 1 }),
      );
    } finally {
      await request.dispose();
    }
  };
  // What is compiled and prepared once belongs to no tenant.
  for (const name of names.slice(0, 20)) await order(name);
  const rest = names.slice(20);
  const before = memory();
  await timed('the first order of a tenant (cold)', rest, order);
  const after = memory();
  await timed('the next order (warm)', rest, order);
  const per = (key) => `${((after[key] - before[key]) / rest.length / 1024).toFixed(0)} kB`;
  note('heap of Node for an open tenant with one connection', per('heap'));
  note('resident memory of Node for it', per('rss'));
  note('memory of PostgreSQL for its connection', per('server'));
  note('an instance with all of them open', `${(after.rss / 1e6).toFixed(0)} MB resident`);
  await shop[Symbol.asyncDispose]();

  await timed('a migration of a tenant (ALTER TABLE)', names, async (name) => {
    const owner = asOwner({ host: '127.0.0.1', port: server.port }, databaseOf(name));
    await owner.query('ALTER TABLE orders ADD COLUMN note text');
    await owner.close();
  });
  await timed('pg_dump of a tenant without orders', names.slice(0, DUMPED), async (name) => {
    const address = `postgres://postgres@127.0.0.1:${server.port}/${databaseOf(name)}`;
    execFileSync('pg_dump', ['--format=custom', address], { stdio: ['ignore', 'ignore', 'inherit'] });
  });
} finally {
  progress('');
  await primaries.stop();
}
console.log(table(['', 'measured', 'CPU of PostgreSQL'], rows));

function note(what, measured, cpu = '') {
  rows.push([what, measured, cpu]);
}

/** One after the other: the median and the slowest, and what it cost the server. */
async function timed(what, all, each) {
  const times = [];
  const before = cpuOfServer(server);
  for (const name of all) {
    progress(`${what}: ${name}`);
    const start = performance.now();
    await each(name);
    times.push(performance.now() - start);
  }
  const sorted = times.toSorted((a, b) => a - b);
  const cpu = (cpuOfServer(server) - before) / all.length;
  note(
    what,
    `${percentile(sorted, 0.5).toFixed(1)} ms, p99 ${percentile(sorted, 0.99).toFixed(1)}`,
    `${cpu.toFixed(1)} ms`,
  );
}

function memory() {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed, rss, server: memoryOfServer(server) };
}
