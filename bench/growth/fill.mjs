/**
 * Databases of the service with 10,000 orders and more: `node bench/growth/fill.mjs [--sizes 10000,100000,1000000,10000000]
 * [--tables users,stock,orders,reservations,keys] [--drop]`. With `--tables` it replaces the rows of these, so that a large
 * database can be filled in parts; with `--drop` it removes the databases. 10,000,000 orders need about 12 GB.
 */
import { parseArgs } from 'node:util';
import { MAIN, run } from '../shared/postgres.mjs';
import { pick } from '../shared/pick.mjs';
import { create, drop, fill, nameOf } from './databases.mjs';
import { groups } from './rows.mjs';
import { SIZES } from './sizes.mjs';

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: SIZES.join(',') },
    tables: { type: 'string' },
    drop: { type: 'boolean', default: false },
  },
});
for (const orders of options.sizes.split(',').map(Number)) {
  if (options.drop) {
    await drop(orders);
    continue;
  }
  const [existing] = await run(MAIN, `SELECT 1 FROM pg_database WHERE datname = '${nameOf(orders)}'`);
  if (!existing) await create(orders);
  for (const group of pick(options.tables, Object.keys(groups))) {
    const start = performance.now();
    await fill(orders, group);
    const [{ size }] = await run(MAIN, `SELECT pg_size_pretty(pg_database_size('${nameOf(orders)}')) AS size`);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(`${orders.toLocaleString('en')} orders: ${group} filled in ${seconds} s, the database has ${size}`);
  }
}
