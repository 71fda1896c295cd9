/**
 * Containers at the work of a request, and off that path, cold start and memory included:
 * `node bench/scope/run.mjs [--rounds 12] [--only ambit,awilix] [--work main,deep] [--check] [--write]`.
 * `--only hand,ambit --work main,deep` is enough while developing; `cliffs` and `targets` stand for the works of these tables.
 * `--check` exits with 1 where Ambit misses a target of works.mjs, `--write` replaces the tables in results.md.
 */
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { able } from './contestant.mjs';
import { interleave } from './interleave.mjs';
import { cliffs } from './cliffs.mjs';
import { report } from './report.mjs';
import { judge, rowsOf } from './targets.mjs';
import { write } from '../results.mjs';
import { pick } from '../shared/pick.mjs';
import { progress } from '../shared/progress.mjs';
import { flatness, targets, works } from './works.mjs';

const here = new URL('.', import.meta.url);
const BASE = 'hand';
const FIRST = [BASE, 'hand-sync', 'ambit', 'inferdi', 'inferdi-fast'];

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '12' },
    only: { type: 'string' },
    work: { type: 'string' },
    check: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);

const files = readdirSync(new URL('contestants/', here)).map((file) => file.replace('.mjs', ''));
const names = pick(options.only, [...new Set([...FIRST, ...files])], [BASE]);
const asked = pick(namesOfWorks(options.work), [
  ...Object.keys(works).filter((work) => works[work].title),
  'bytes',
  'flat',
]);

const contestants = new Map();
for (const name of names) {
  contestants.set(name, (await import(`./contestants/${name}.mjs`)).contestant);
}
const ables = (work) => [...contestants].filter(([, contestant]) => able(contestant, work)).map(([name]) => name);

/** @type {import('./report.mjs').Results} */
const results = { base: BASE, contestants, works: {}, flat: {} };
for (const work of asked.filter((it) => it !== 'flat')) {
  const jobs = ables(work).map((name) => [name, name, work]);
  // Next to one another, as neighbours slow everything down that runs at the same time.
  if (besideMain(work) && names.includes('ambit')) jobs.push(['main', 'ambit', 'main']);
  results.works[work] = await interleave(jobs, rounds, work);
}
for (const name of asked.includes('flat') ? names : []) {
  const jobs = flatness.filter((work) => able(contestants.get(name), work)).map((work) => [work, name, work]);
  results.flat[name] = await interleave(jobs, rounds, 'flat');
}
progress('');
for (const [section, text] of Object.entries({ scope: report(results), cliffs: cliffs(results) })) {
  if (!text) continue;
  console.log(`${text}\n`);
  if (options.write) write(section, text);
}
if (options.check) {
  const verdicts = judge(results);
  if (verdicts.length === 0) throw new Error('nothing was measured that has a target');
  if (verdicts.some(({ kept }) => !kept)) process.exitCode = 1;
}

function namesOfWorks(list) {
  const groups = {
    cliffs: Object.keys(works).filter((work) => works[work].cliff),
    targets: [...new Set(Object.keys(targets).map((row) => row.split(':')[0]))],
  };
  if (!list && options.check) return groups.targets.join();
  return list
    ?.split(',')
    .flatMap((name) => groups[name] ?? [name])
    .join();
}

function besideMain(work) {
  if (work === 'main' || !works[work]) return false;
  return rowsOf(work).some((row) => targets[row]?.main) || (works[work].cliff && !works[work].once);
}
