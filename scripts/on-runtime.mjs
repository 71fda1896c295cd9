// Runs tests on Bun or Deno: node scripts/on-runtime.mjs bun packages/fetch/test
// The npm packages `bun` and `deno` carry the binaries; each is installed once, into .cache/.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** The arguments that make each runtime run a program with all it needs, and not start Node for it. */
/** @type {Record<string, { major: number, run: string[] }>} */
const RUNTIMES = { bun: { major: 1, run: ['--bun'] }, deno: { major: 2, run: ['run', '--allow-all'] } };

const [name = '', ...tests] = process.argv.slice(2);
const runtime = RUNTIMES[name];
if (!runtime) {
  console.error(`No runtime named '${name}'. The runtimes: ${Object.keys(RUNTIMES).join(', ')}.`);
  process.exit(2);
}
const folder = resolve('.cache', `${name}-${runtime.major}`);
const binary = resolve(folder, 'node_modules/.bin', name);
if (!existsSync(binary)) {
  const options = ['--no-save', '--no-package-lock', '--loglevel=error'];
  run('npm', ['install', '--prefix', folder, ...options, `${name}@${runtime.major}`]);
}
run(binary, [...runtime.run, 'node_modules/vitest/vitest.mjs', 'run', ...tests]);

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
