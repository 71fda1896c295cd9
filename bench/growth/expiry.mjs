/**
 * How long the service needs to delete expired idempotency keys: `node bench/growth/expiry.mjs [--sizes ...]`. Each database
 * gets as many expired keys as it has younger ones, which stay.
 */
import { parseArgs } from 'node:util';
import { createIdempotency } from '../../packages/idempotency/dist/index.js';
import { readConfig } from '../../service/dist/index.js';
import { createPool } from '../../service/dist/database/pool.js';
import { run } from '../shared/postgres.mjs';
import { table } from '../shared/table.mjs';
import { urlOf } from './databases.mjs';
import { keysOf } from './rows.mjs';
import { SIZES } from './sizes.mjs';

const KEY_LIFETIME_MS = 86_400_000;

const { values: options } = parseArgs({ options: { sizes: { type: 'string', default: SIZES.join(',') } } });
const rows = [];
for (const orders of options.sizes.split(',').map(Number)) {
  const keys = keysOf(orders);
  const pool = createPool(readConfig({ DATABASE_URL: urlOf(orders) }).database);
  const idempotency = createIdempotency(pool, { dialect: 'postgres' });
  await idempotency.removeExpired();
  const yesterday = Date.now() - KEY_LIFETIME_MS;
  await run(
    urlOf(orders),
    `INSERT INTO idempotency_keys SELECT CAST(gen_random_uuid() AS text), repeat('f', 43), 201, repeat('x', 250),
       ${yesterday} - CAST(i AS bigint) * ${KEY_LIFETIME_MS} / ${keys} FROM generate_series(1, ${keys}) AS i`,
  );
  const start = performance.now();
  await idempotency.removeExpired();
  const ms = performance.now() - start;
  await pool.close();
  const count = `SELECT count(*) AS left FROM idempotency_keys WHERE created_at < ${yesterday}`;
  const [{ left }] = await run(urlOf(orders), count);
  if (Number(left) > 0) throw new Error(`${left} expired keys are still there`);
  rows.push([keys.toLocaleString('en'), (ms / 1000).toFixed(2), ((1000 * ms) / keys).toFixed(1)]);
}
console.log(table(['expired keys', 'seconds', 'µs per key'], rows));
