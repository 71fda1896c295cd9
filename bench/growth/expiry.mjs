/**
 * How long the service needs to delete expired idempotency keys: `node bench/growth/expiry.mjs [--database postgres] [--sizes ...]
 * [--data <folder>]`. Each database gets as many expired keys as it has younger ones, which stay.
 */
import { parseArgs } from 'node:util';
import { readConfig, startService } from '../../service/dist/index.js';
import { pick } from '../shared/pick.mjs';
import { table } from '../shared/table.mjs';
import { DEFAULT_FOLDER, Databases, nameOf, SIZES } from './databases.mjs';
import { ENGINES } from './engines/engines.mjs';
import { expiredKeys, keysOf } from './rows.mjs';

const { values: options } = parseArgs({
  options: {
    database: { type: 'string' },
    sizes: { type: 'string', default: SIZES.join(',') },
    data: { type: 'string', default: DEFAULT_FOLDER },
  },
});
const rows = [];
for (const dialect of pick(options.database, Object.keys(ENGINES))) {
  const databases = await Databases.open(dialect, options.data);
  for (const orders of options.sizes.split(',').map(Number)) {
    const environment = { ...process.env, ...databases.engine.environmentOf(nameOf(orders)), PORT: '0' };
    const service = await startService(readConfig({ ...environment, LOG_LEVEL: 'silent' }));
    const idempotency = service.container.resolve('IIdempotency');
    await idempotency.removeExpired();
    await databases.engine.run(nameOf(orders), expiredKeys(dialect, orders));
    const start = performance.now();
    const removed = await idempotency.removeExpired();
    const ms = performance.now() - start;
    await service.stop();
    if (removed !== keysOf(orders)) throw new Error(`${removed} of ${keysOf(orders)} expired keys were removed`);
    rows.push([
      `${dialect}, ${removed.toLocaleString('en')} keys`,
      (ms / 1000).toFixed(2),
      ((1000 * ms) / removed).toFixed(1),
    ]);
  }
  await databases.stop();
}
console.log(table(['expired', 'seconds', 'µs per key'], rows));
