import { runCommand } from './command.js';
import { readConfig } from './config/config.js';
import { withDatabase } from './database/prepare.js';
import { readCommand } from './orders/stock-command.js';

const IN_MEMORY =
  'DATA_DIR=:memory: is a separate database in each process: no service would see the stock level.' +
  ' Name the folder or the DATABASE_URL of the service';

runCommand(async (args, env) => {
  const run = readCommand(args);
  return withDatabase(readConfig(env), IN_MEMORY, run);
});
