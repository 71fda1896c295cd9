import { createOutbox } from '@ambit/outbox';
import { runCommand } from './command.js';
import { readConfig } from './config/config.js';
import { withDatabase } from './database/prepare.js';
import { readEventsCommand } from './events/events-command.js';

const IN_MEMORY =
  'DATA_DIR=:memory: is a separate database in each process: it has no events of any service.' +
  ' Name the folder or the DATABASE_URL of the service';

runCommand(async (args, env) => {
  const run = readEventsCommand(args);
  return withDatabase(readConfig(env), IN_MEMORY, (pool, { name: dialect }) => run(createOutbox(pool, { dialect })));
});
