// Installs Prisma 7, or 6, and generates its client, without downloading an engine: node test/orm/prisma/prepare.mjs [6]
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';

const schema = readFileSync(new URL('schema.prisma', import.meta.url), 'utf8');
// Its default engine is a binary, which has connections of its own.
const ofSix = schema
  .replace('provider = "postgresql"', 'provider = "postgresql"\n  url = "postgres://"')
  .replace('moduleFormat', 'engineType = "client"\n  moduleFormat');
if (process.argv[2] === '6') prepare('six/', ofSix);
else prepare('.', schema);

/**
 * @param {string} folder
 * @param {string} text
 */
function prepare(folder, text) {
  const cwd = new URL(folder, import.meta.url);
  if (!existsSync(new URL('node_modules/', cwd)))
    run(cwd, 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
  if (text !== schema) writeFileSync(new URL('schema.prisma', cwd), text);
  run(cwd, process.execPath, ['node_modules/prisma/build/index.js', 'generate', '--schema', 'schema.prisma']);
}

/**
 * @param {URL} cwd
 * @param {string} command
 * @param {string[]} args
 */
function run(cwd, command, args) {
  // `generate` looks for an engine that it does not use, and would download it; any program will do.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
  const { status } = spawnSync(command, args, { cwd, env, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
