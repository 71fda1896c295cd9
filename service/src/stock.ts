import { ConfigError, readConfig } from './config/config.js';
import { prepareDatabase, requireFile, requireTables } from './database/prepare.js';
import { createPool, DatabaseUnusableError } from './database/pool.js';
import { readCommand, StockError } from './orders/stock-command.js';

const IN_MEMORY =
  'DATA_DIR=:memory: is a separate database in each process: no service would see the stock level.' +
  ' Name the folder or the DATABASE_URL of the service';

async function main(): Promise<void> {
  const run = readCommand(process.argv.slice(2));
  const config = readConfig(process.env);
  const { database } = config;
  if (database.kind === 'sqlite' && database.folder === ':memory:') throw new ConfigError([IN_MEMORY]);
  requireFile(database);
  const pool = createPool(database);
  try {
    await requireTables(pool, config);
    await prepareDatabase(pool, config);
    const lines = await run(pool);
    process.stdout.write(`${lines.join('\n')}\n`);
  } finally {
    await pool.close();
  }
}

main().catch((error: unknown) => {
  const isExplained =
    error instanceof StockError || error instanceof ConfigError || error instanceof DatabaseUnusableError;
  if (!isExplained) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
});
