// Installs Prisma and generates its client, without downloading an engine: node test/orm/prisma/prepare.mjs
import { existsSync } from 'node:fs';
import { spawnSync } from 'node:child_process';

const cwd = new URL('.', import.meta.url);

if (!existsSync(new URL('node_modules/', cwd))) run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
run(process.execPath, ['node_modules/prisma/build/index.js', 'generate', '--schema', 'schema.prisma']);

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  // `generate` looks for an engine that it does not use, and would download it; any program will do.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
  const { status } = spawnSync(command, args, { cwd, env, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
