import { statSync } from 'node:fs';
import { TransactionError } from '@ambit/transaction';
import { runCommand } from './command.js';
import { ConfigError, readConfig } from './config/config.js';
import { engineOf } from './database/engines.js';
import { ExplainedError } from './problem.js';

const USAGE = `npm run backup -- <file>   copies the database to a file that does not exist yet`;
const IN_MEMORY = 'DATA_DIR=:memory: is a database within one process, which no other process can copy';

runCommand(async ([target, ...rest], env) => {
  if (target === undefined || target === '' || target.startsWith('-') || rest.length > 0)
    throw new ExplainedError(USAGE, 64);
  const engine = engineOf(readConfig(env).database);
  if (engine.isInMemory) throw new ConfigError([IN_MEMORY]);
  await engine.backUp(target).catch((error: unknown) => {
    throw error instanceof TransactionError ? new ExplainedError(withCauses(error), 1, { cause: error }) : error;
  });
  return [`${target}: ${statSync(target).size} bytes`];
});

function withCauses({ message, cause }: Error): string {
  return cause instanceof Error ? `${message}\n  because: ${withCauses(cause)}` : message;
}
