import { createOutbox } from '@ambit/outbox';
import { ConfigError, readConfig } from './config/config.js';
import { prepareDatabase, requireFile, requireTables } from './database/prepare.js';
import { createPool, DatabaseUnusableError } from './database/pool.js';
import { EventsError, readEventsCommand } from './events/events-command.js';

const IN_MEMORY =
  'DATA_DIR=:memory: is a separate database in each process: it has no events of any service.' +
  ' Name the folder or the DATABASE_URL of the service';

async function main(): Promise<void> {
  const run = readEventsCommand(process.argv.slice(2));
  const config = readConfig(process.env);
  const { database } = config;
  if (database.kind === 'sqlite' && database.folder === ':memory:') throw new ConfigError([IN_MEMORY]);
  requireFile(database);
  const pool = createPool(database);
  try {
    await requireTables(pool, config);
    await prepareDatabase(pool, config);
    const lines = await run(createOutbox(pool, { dialect: database.kind }));
    process.stdout.write(`${lines.join('\n')}\n`);
  } finally {
    await pool.close();
  }
}

main().catch((error: unknown) => {
  const isExplained =
    error instanceof EventsError || error instanceof ConfigError || error instanceof DatabaseUnusableError;
  if (!isExplained) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
});
