// @ts-check
// Plays the simulation of the service with one mistake in its sources after another: `npm run check -- mutants`. Prints within how
// many seeds each was found; one that is not fails the run. `node tools/mutants.mjs stock` tries those whose name has this word.
import { execFile } from 'node:child_process';
import { promisify, stripVTControlCharacters } from 'node:util';
import { MUTANTS } from './mutants/mutants.mjs';

const SEEDS = process.env['SEEDS'] ?? '5000';
const VITEST = [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--project',
  'isolated',
  'service/test/simulation',
  '-t',
  'random runs',
];
const [word = ''] = process.argv.slice(2);
const names = Object.keys(MUTANTS).filter((name) => name.includes(word));

let missed = 0;
console.log('| mistake | found within seeds | by |\n| --- | ---: | --- |');
for (const name of names) {
  const { seeds, broken } = await trial(name);
  if (!seeds) missed += 1;
  console.log(`| ${name} | ${seeds ?? 'not found'} | ${broken} |`);
}
console.log(missed === 0 ? `\nAll ${names.length} were found.` : `\n${missed} of ${names.length} were not found.`);
process.exitCode = missed === 0 ? 0 : 1;

/** @param {string} mutant */
async function trial(mutant) {
  const env = { ...process.env, MUTANT: mutant, SEEDS, FIRST_SEED: '1' };
  const output = await promisify(execFile)(process.execPath, VITEST, { env, maxBuffer: 2 ** 28 }).catch(
    (/** @type {unknown} */ error) => /** @type {{ stdout: string, stderr: string }} */ (error),
  );
  const text = stripVTControlCharacters(`${output.stdout}${output.stderr}`).replaceAll(/^\+ /gm, '');
  const [, seed, broken = ''] = /SEED=(\d+).*replays it[^\n]*:\n([^\n]*)/.exec(text) ?? [];
  if (!seed && !/1 passed/.test(text)) throw new Error(`The simulation did not run with ${mutant}:\n${text}`);
  return { seeds: seed, broken: broken.slice(0, 100) };
}
