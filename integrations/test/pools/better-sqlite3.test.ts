// better-sqlite3 has to be compiled for the Node it runs on, so it is not among what is installed here. With it installed in /some/folder:
//   BETTER_SQLITE3=/some/folder node integrations/node_modules/vitest/vitest.mjs run --root integrations test/pools/better-sqlite3
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type BetterSqlite3, fromBetterSqlite3 } from '@ambit/drivers/better-sqlite3';
import { LACKS } from '../../../packages/drivers/test/support/lacks.js';
import { poolContract } from '../../../packages/transaction/test/support/pool-contract.js';
import { inFolder } from './databases.js';

type Constructor = new (path: string, options: object) => BetterSqlite3;
const folder = process.env['BETTER_SQLITE3'];

poolContract({
  name: 'better-sqlite3',
  hasOneConnection: true,
  beginWaits: true,
  missing: folder === undefined,
  open: () => {
    const Database = createRequire(join(folder ?? '', 'package.json'))('better-sqlite3') as Constructor;
    return inFolder((path, options) => fromBetterSqlite3(new Database(path, { timeout: 0 }), options));
  },
  cannot: LACKS['better-sqlite3'] ?? {},
});
