import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const require = createRequire(import.meta.url);

/**
 * @typedef {{ file: string, line: number, message: string }} Diagnostic
 */

/**
 * Runs one of the installed compilers and returns what it complains about.
 * @param {string} compiler the name of the installed package: `typescript`, `typescript-5.9`, ...
 * @param {string[]} args
 * @returns {Diagnostic[]}
 */
export function diagnose(compiler, args) {
  const tsc = join(dirname(require.resolve(`${compiler}/package.json`)), 'bin/tsc');
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
  if (status !== 0 && found.length === 0) throw new Error(`${compiler} ended with ${status}: ${stdout}${stderr}`);
  return found;
}
