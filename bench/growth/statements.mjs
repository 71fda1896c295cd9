/**
 * Every statement that the service has executed on PostgreSQL during measure.mjs, by the size of the database: `node
 * bench/growth/statements.mjs [--sizes ...] [--data <folder>]`. Prints the mean time, the pages and the plan of each, and exits with 1 if
 * one of them reads a whole table that grows.
 */
import { parseArgs } from 'node:util';
import { table } from '../shared/table.mjs';
import { DEFAULT_FOLDER, Databases, nameOf, SIZES } from './databases.mjs';
import { plansOf, SMALL_ROWS } from './plans.mjs';

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: SIZES.join(',') },
    data: { type: 'string', default: DEFAULT_FOLDER },
  },
});
/** @type {Map<string, [orders: number, plan: Awaited<ReturnType<typeof plansOf>>[number]][]>} */
const statements = new Map();
const databases = await Databases.open('postgres', options.data);
try {
  for (const orders of options.sizes.split(',').map(Number))
    for (const plan of await plansOf(databases.engine, nameOf(orders)))
      statements.set(plan.query, [...(statements.get(plan.query) ?? []), [orders, plan]]);
} finally {
  await databases.stop();
}

for (const [query, bySize] of statements) {
  console.log(`\n${query.replaceAll(/\s+/g, ' ')}\n`);
  const rows = bySize.map(([orders, { calls, ms, pages, plan }]) => [
    `${orders.toLocaleString('en')} orders`,
    String(calls),
    ms.toFixed(3),
    pages.toFixed(1),
    plan,
  ]);
  console.log(table(['', 'calls', 'ms', 'pages', 'plan'], rows));
}
const scans = [...statements.values()].flat().flatMap(([, { scanned }]) => scanned);
console.log(`\n${statements.size} statements, ${scans.length} scans of a table with more than ${SMALL_ROWS} rows`);
process.exitCode = scans.length > 0 ? 1 : 0;
