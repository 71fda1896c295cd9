import { type ContractDatabase, poolContract } from '@ambit/testing/pools';
import { chosen } from '@ambit/test-kit';
import { vi } from 'vitest';
import { transactionCheck } from '../src/check/index.js';
import { Pool } from '../src/pool/pool.js';
import { SqliteDriver } from '../src/sqlite/driver.js';
import { loadSqlite } from '../src/sqlite/node-sqlite.js';
import { readSqliteOptions } from '../src/sqlite/options.js';
import { databases, openSqlite, sandboxes } from './support/databases.js';
import { keepsLines } from './support/lines.js';

/** The same pools with the check around them, which changes nothing: of one that is synchronous, and one that is not. */
const checked: typeof databases = databases
  .filter(({ name }) => name === 'SQLite' || name === 'PostgreSQL')
  .map(({ name, open, ...others }) => ({
    ...others,
    name: `${name}, checked`,
    terminates: false,
    leftovers: [],
    // Waiting for a second connection is what the check reports, and a transaction that is idle.
    beginWaits: false,
    open: async () => {
      const database = await open();
      // How long a transaction is idle here goes by how busy the machine is.
      const check = transactionCheck({ gapMs: 5000 });
      return {
        pool: (options) => check.pool(database.pool(options)),
        drop: async () => {
          check.stop();
          await database.drop();
          check.assertNone();
        },
      };
    },
  }));

/** A version of SQLite that loses commits of several processes; each pool has a file of its own, because it can be opened once only. */
const keepingTheFile: ContractDatabase = {
  name: 'SQLite 3.51.2',
  hasOneConnection: true,
  open: async () => {
    const opened: Awaited<ReturnType<typeof openSqlite>>[] = [];
    const pools: Pool[] = [];
    const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    return {
      pool: async (options = {}) => {
        const database = await openSqlite();
        opened.push(database);
        const { acquireTimeoutMs = 60_000, closeTimeoutMs = 100, maxWaiting = 1000 } = options;
        const settings = readSqliteOptions({ path: database.path, acquireTimeoutMs, closeTimeoutMs, maxWaiting });
        const pool = new Pool(new SqliteDriver({ ...loadSqlite(), version: '3.51.2' }, settings), settings);
        pools.push(pool);
        return pool;
      },
      drop: async () => {
        warnings.mockRestore();
        for (const pool of pools) await pool.close();
        for (const database of opened) await database.drop();
      },
    };
  },
};

/** JavaScriptCore, the engine of Bun, makes shorter stacks than V8. */
const LINES_LOST = process.versions['bun'] && {
  'has the line of the application in the stack of what fails, whatever is around the pool':
    'the stacks of JavaScriptCore do not follow a promise that an async function returns without awaiting it',
};

for (const database of chosen([...databases, keepingTheFile, ...checked, ...sandboxes]))
  poolContract({ ...database, cannot: { ...database.cannot, ...LINES_LOST } }, keepsLines);
