// `npm run check -- quick`: what changed since main, in less than half a minute: formatted, compiled, linted, in the words of the field; and that a
// code has its heading and its status, a channel its row, and a link its target. `quick HEAD~1` takes another commit than main.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';

const git = (/** @type {string[]} */ ...args) => execFileSync('git', args, { encoding: 'utf8' }).trim();
const base = git('merge-base', 'HEAD', process.argv[3] ?? 'main');
const changed = [
  ...git('diff', '--name-only', base).split('\n'),
  ...git('ls-files', '-o', '--exclude-standard').split('\n'),
].filter((path) => path !== '' && existsSync(path) && !path.endsWith('package-lock.json'));
const code = changed.filter((path) => /\.[cm]?[jt]sx?$/.test(path));
const TESTS = ['tools/test/documents', 'packages/container/test/error-messages', 'packages/http/test/errors'];

const env = { ...process.env, PATH: `${resolve('node_modules/.bin')}${delimiter}${process.env['PATH']}` };

/** @type {Record<string, string[]>} */
const STEPS = {
  format: ['oxfmt', '--check', '--no-error-on-unmatched-pattern', ...changed],
  types: ['tsc', '-b'],
  ...(code.length > 0 && { lint: ['oxlint', ...code] }),
  words: [process.execPath, 'tools/words.mjs', ...changed],
  documents: ['vitest', 'run', '--project', 'shared', ...TESTS],
};
if (changed.length === 0) console.log(`Nothing has changed since ${base}.`);
else
  for (const [name, [program = '', ...args]] of Object.entries(STEPS)) {
    const start = performance.now();
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env });
    console.log(
      `${status === 0 ? 'pass' : 'FAIL'}  ${name.padEnd(10)} ${((performance.now() - start) / 1000).toFixed(1)} s`,
    );
    if (status === 0) continue;
    console.log(stdout + stderr);
    process.exitCode = 1;
  }
