import { statSync } from 'node:fs';
import { TransactionError } from '@ambit/transaction';
import { ConfigError, readConfig } from './config/config.js';
import { backUp, BackupError } from './database/back-up.js';

const USAGE = `npm run backup -- <file>   copies the database to a file that does not exist yet`;
const IN_MEMORY = 'DATA_DIR=:memory: is a database within one process, which no other process can copy';

async function main([target, ...rest]: readonly string[]): Promise<void> {
  if (target === undefined || target === '' || target.startsWith('-') || rest.length > 0)
    throw new BackupError(USAGE, 64);
  const { database } = readConfig(process.env);
  if (database.kind === 'sqlite' && database.folder === ':memory:') throw new ConfigError([IN_MEMORY]);
  await backUp(database, target);
  process.stdout.write(`${target}: ${statSync(target).size} bytes\n`);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  if (error instanceof TransactionError) process.stderr.write(`${error.message}\n${causesOf(error)}`);
  else if (error instanceof BackupError || error instanceof ConfigError) process.stderr.write(`${error.message}\n`);
  else throw error;
  process.exitCode = error instanceof TransactionError ? 1 : error.exitCode;
});

function causesOf({ cause }: Error): string {
  return cause instanceof Error ? `  because: ${cause.message}\n${causesOf(cause)}` : '';
}
