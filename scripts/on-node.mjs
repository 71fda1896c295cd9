// Runs a program on another Node: node scripts/on-node.mjs 24 node_modules/vitest/vitest.mjs run
// The npm package `node` carries the binaries; each version is installed once, into .cache/.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, resolve } from 'node:path';

const [version, ...program] = process.argv.slice(2);
const folder = resolve('.cache', `node-${version}`);
const node = resolve(folder, 'node_modules/node/bin/node');

if (!existsSync(node)) {
  const install = [
    'install',
    '--prefix',
    folder,
    '--no-save',
    '--no-package-lock',
    '--loglevel=error',
    `node@${version}`,
  ];
  run('npm', install, process.env);
}
// First on the PATH too, so that what a test starts by the name `node` is this one.
run(node, program, { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env['PATH']}` });

/**
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
function run(command, args, env) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', env });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
