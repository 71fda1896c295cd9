// The laboratory: long trials of what no test can try in a second.
//   npm run lab                        lists its programs
//   npm run lab -- kills --seconds 60  runs one, with its options, which stand at the top of its file
//   npm run lab -- kills --short       as short as it can be and still find what it has found
//   npm run lab -- --often             the short form of those that have found most, as CI does
//   npm run lab -- --all               all of them, as they are
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { PROGRAMS } from './programs.mjs';

const [first = '', ...args] = process.argv.slice(2);
const names = Object.keys(PROGRAMS);
const chosen =
  first === '--all' ? names : first === '--often' ? names.filter((name) => PROGRAMS[name]?.often) : [first];
if (!chosen.every((name) => name in PROGRAMS)) {
  if (first !== '') console.error(`No program is named ${first}.`);
  for (const [name, { what, often }] of Object.entries(PROGRAMS))
    console.log(`${often ? '*' : ' '} ${name.padEnd(21)} ${what}`);
  console.log('\n  * CI runs its short form. The options of each stand at the top of its file in lab/.');
  process.exit(first === '' ? 0 : 2);
}
const failed = chosen.filter((name) => !passes(name, first === '--often' ? ['--short'] : args));
if (failed.length > 0) console.error(`\nFAILED: ${failed.join(', ')}`);
process.exitCode = failed.length > 0 ? 1 : 0;

/** @param {readonly string[]} words the arguments of Node, in the root of the repository */
function run(words) {
  return spawnSync(process.execPath, words, { cwd: join(import.meta.dirname, '..'), stdio: 'inherit' }).status;
}

/** Installs the lock of this folder, unless the installation is newer. */
function install() {
  const [lock, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map((path) =>
    statSync(new URL(path, import.meta.url), { throwIfNoEntry: false }),
  );
  if (lock && installed && installed.mtimeMs >= lock.mtimeMs) return;
  const options = ['ci', '--prefix', import.meta.dirname, '--ignore-scripts', '--no-audit', '--no-fund'];
  const { status } = spawnSync('npm', options, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

/** @param {string} name @param {readonly string[]} given */
function passes(name, given) {
  const {
    file,
    short,
    installs,
    prepare = [],
    node,
  } = /** @type {import('./programs.mjs').Program} */ (PROGRAMS[name]);
  if (installs) install();
  for (const program of prepare) run([program]);
  const options = given.flatMap((option) => (option === '--short' ? short : [option]));
  const start = performance.now();
  if (chosen.length > 1) console.log(`\n== ${name} ${options.join(' ')}`);
  const path = fileURLToPath(new URL(file, import.meta.url));
  const status = run([...(node === undefined ? [] : ['tools/on-node.mjs', node]), path, ...options]);
  if (chosen.length > 1) console.log(`== ${name}: ${((performance.now() - start) / 1000).toFixed(0)} s`);
  return status === 0;
}
