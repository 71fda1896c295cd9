import { runCommand } from './command.js';
import { ConfigError, readConfig } from './config/config.js';
import { engineOf } from './database/engines.js';
import { withDatabase } from './database/prepare.js';
import { explained } from './database/unusable.js';
import { ExplainedError } from './problem.js';

const USAGE =
  'npm run check-database   reads every page of the embedded database, which may be in use, and says what is damaged';
const SERVER = 'DATABASE_URL leads to a server, which has its own tools: amcheck of PostgreSQL, CHECK TABLE of MariaDB';
const IN_MEMORY = 'DATA_DIR=:memory: is a separate database in each process, which no other process can check';

runCommand(async (args, env) => {
  if (args.length > 0) throw new ExplainedError(USAGE, 64);
  const config = readConfig(env);
  if (config.database.kind !== 'sqlite') throw new ConfigError([SERVER]);
  return withDatabase(config, IN_MEMORY, async (pool) => {
    const rows = await pool.query('PRAGMA quick_check').catch((error: unknown) => {
      throw explained(error, engineOf(config.database));
    });
    const found = rows.flatMap((row) => Object.values(row)).map(String);
    if (found.join() !== 'ok') throw new ExplainedError([...found, 'Restore a backup.'].join('\n'), 1);
    return ['No damage was found.'];
  });
});
