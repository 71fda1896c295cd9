// The programs of other runtimes, which npm packages carry: each is installed once, into .cache/.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** The major versions that the tests run on. @type {Record<string, number>} */
const MAJORS = { bun: 1, deno: 2 };

/** @param {string} version of Node, as in `24` @returns {string} its binary */
export const nodeBinary = (version) => installed('node', version, 'node/bin/node');

/** @param {string} name `bun` or `deno` @returns {string} its binary */
export function runtimeBinary(name) {
  const major = MAJORS[name];
  if (!major) throw new Error(`No runtime named '${name}'. The runtimes: ${Object.keys(MAJORS).join(', ')}.`);
  return installed(name, String(major), `.bin/${name}`);
}

/**
 * @param {string} name of an npm package
 * @param {string} version
 * @param {string} path of the program in node_modules
 * @param {readonly string[]} [more] options of npm, and packages that it needs beside it
 */
export function installed(name, version, path, more = []) {
  const folder = resolve(import.meta.dirname, '../.cache', `${name.replace('/', '-')}-${version}`);
  const binary = resolve(folder, 'node_modules', path);
  const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error'];
  if (!existsSync(binary)) run('npm', ['install', '--prefix', folder, ...options, ...more, `${name}@${version}`]);
  return binary;
}

/**
 * Runs a program as if it were this one: with its output, and its exit code if it fails.
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
export function run(command, args, env = process.env) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', env });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
