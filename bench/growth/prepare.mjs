/**
 * Databases of the service with 10,000 to 10,000,000 orders, in a folder where they stay: `node bench/growth/prepare.mjs
 * [--database postgres,sqlite,mariadb] [--sizes 10000,100000,1000000,10000000] [--data <folder>]`. The folder is that of
 * GROWTH_DATA, or one among the temporary files. 10,000,000 orders need about 10 GB in each database.
 */
import { parseArgs } from 'node:util';
import { pick } from '../shared/pick.mjs';
import { DEFAULT_FOLDER, Databases, nameOf, SIZES } from './databases.mjs';
import { ENGINES } from './engines/engines.mjs';

const { values: options } = parseArgs({
  options: {
    database: { type: 'string' },
    sizes: { type: 'string', default: SIZES.join(',') },
    data: { type: 'string', default: DEFAULT_FOLDER },
  },
});
for (const dialect of pick(options.database, Object.keys(ENGINES))) {
  const databases = await Databases.open(dialect, options.data);
  try {
    for (const orders of options.sizes.split(',').map(Number))
      await databases.prepare(nameOf(orders), orders, (what) => console.log(`${dialect}, ${what}`));
  } finally {
    await databases.stop();
  }
}
