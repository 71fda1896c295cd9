import { transactionCheck } from '../src/check/index.js';
import { databases, sandboxes } from './support/databases.js';
import { poolContract } from './support/pool-contract.js';

/** The same pools with the check around them, which changes nothing. */
const checked: typeof databases = databases
  .filter(({ name }) => name !== 'SQLite in memory')
  .map(({ name, missing, hasSeveralWriters = false, cannot = {}, open }) => ({
    name: `${name}, checked`,
    missing,
    hasSeveralWriters,
    cannot,
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

for (const database of [...databases, ...checked, ...sandboxes]) poolContract(database);
