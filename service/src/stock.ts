import { ConfigError, readConfig } from './config/read-config.js';
import { migrate } from './database/migrate.js';
import { createPool, dialectOf } from './database/pool.js';
import { readCommand, StockError } from './orders/stock-command.js';

const IN_MEMORY =
  'DATA_DIR=:memory: is another database in each process: no service would see what is set here.' +
  ' Name the folder or the DATABASE_URL of the service';

async function main(): Promise<void> {
  const run = readCommand(process.argv.slice(2));
  const { database, startTimeoutMs } = readConfig(process.env);
  if (database.kind === 'sqlite' && database.folder === ':memory:') throw new ConfigError([IN_MEMORY]);
  const pool = createPool(database);
  try {
    await migrate(pool, dialectOf(database), startTimeoutMs);
    const lines = await run(pool);
    process.stdout.write(`${lines.join('\n')}\n`);
  } finally {
    await pool.close();
  }
}

main().catch((error: unknown) => {
  if (!(error instanceof StockError || error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
});
