/**
 * Whether the service does the same work for a request with 1,000,000 orders as with 10,000: `node bench/growth/check.mjs [--database
 * postgres,sqlite,mariadb] [--sizes 10000,1000000]`. It counts the rows, pages and steps of each request and reads the plans of
 * PostgreSQL, on servers and files of its own, so that it may run on a busy machine: nothing is timed. Exits with 1 if a count has grown.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pick } from '../shared/pick.mjs';
import { table } from '../shared/table.mjs';
import { Databases, FLAT, nameOf } from './databases.mjs';
import { ENGINES } from './engines/engines.mjs';
import { plansOf } from './plans.mjs';
import { startTargets } from './targets.mjs';
import { works } from './works.mjs';

const { values: options } = parseArgs({
  options: { database: { type: 'string' }, sizes: { type: 'string', default: '10000,1000000' } },
});
const REQUESTS = 100;
const sizes = options.sizes.split(',').map((label) => ({ name: nameOf(label), orders: Number(label), label }));

let failures = 0;
for (const dialect of pick(options.database, Object.keys(ENGINES))) {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-growth-'));
  // The server may have a user of its own.
  chmodSync(folder, 0o755);
  const databases = await Databases.open(dialect, folder);
  try {
    for (const { name, orders } of sizes) await databases.prepare(name, orders);
    failures += await checkCounts(dialect, databases.engine);
    if (dialect === 'postgres') failures += await checkPlans(databases.engine);
  } finally {
    await databases.stop();
    rmSync(folder, { recursive: true });
  }
}
console.log(`\n${failures} of them have grown`);
process.exitCode = failures > 0 ? 1 : 0;

async function checkCounts(dialect, engine) {
  const { columns, steady } = ENGINES[dialect];
  const { targets, stop } = await startTargets(engine, 'fastify', sizes);
  const rows = [];
  let grown = 0;
  for (const work of Object.keys(works)) {
    const turns = [];
    for (const target of targets) turns.push(await target.turn(await target.begin(work), { requests: REQUESTS }));
    for (const name of steady) {
      const [first, ...others] = turns.map((turn) => turn[name]);
      // One more is the next level of an index.
      const hasGrown = others.some((value) => value > FLAT * first + 1);
      if (hasGrown) grown += 1;
      const verdict = hasGrown ? 'HAS GROWN' : '';
      rows.push([`${works[work].title}: ${columns[name]}`, ...turns.map((turn) => turn[name].toFixed(2)), verdict]);
    }
  }
  await stop();
  console.log(`\n${dialect}\n\n${table(['per request', ...sizes.map(({ label }) => `${label} orders`), ''], rows)}`);
  return grown;
}

async function checkPlans(engine) {
  let scans = 0;
  for (const { name, label } of sizes)
    for (const { query, scanned } of await plansOf(engine, name))
      for (const { relation } of scanned) {
        scans += 1;
        console.log(`\nWith ${label} orders all of ${relation} is read by ${query}`);
      }
  return scans;
}
