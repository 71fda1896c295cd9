/**
 * Containers at the work of a request:
 * `node bench/scope/run.mjs [--rounds 12] [--only ambit,awilix] [--work main,deep] [--check] [--write]`.
 * `--only hand,ambit --work main,deep` is enough while developing.
 * `--check` exits with 1 where Ambit misses a target of works.mjs, `--write` replaces the tables in results.md.
 */
import { parseArgs } from 'node:util';
import { contestants as all } from './contestants.mjs';
import { interleave } from './interleave.mjs';
import { missedTargets, report } from './report.mjs';
import { write } from '../shared/results.mjs';
import { pick, progress } from '../shared/command.mjs';
import { flatness, targets, works } from './works.mjs';

const BASE = 'hand';

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
const names = pick(options.only, Object.keys(all), [BASE]);
const asked = pick(options.work ?? (options.check ? Object.keys(targets).join() : undefined), [
  ...Object.keys(works).filter((work) => works[work].title),
  'bytes',
  'flat',
]);

/** A contestant that cannot await a disposal is left out where disposal is measured. */
const able = (name, work) =>
  !all[name].cannot?.includes(work) && (all[name].disposal === 'awaited' || !works[work]?.disposable);

/** @type {import('./report.mjs').Results} */
const results = { base: BASE, contestants: new Map(names.map((name) => [name, all[name]])), works: {}, flat: {} };
for (const work of asked.filter((it) => it !== 'flat')) {
  const jobs = names.filter((name) => able(name, work)).map((name) => [name, name, work]);
  results.works[work] = await interleave(jobs, rounds, work);
}
for (const name of asked.includes('flat') ? names : []) {
  const jobs = flatness.filter((work) => able(name, work)).map((work) => [work, name, work]);
  results.flat[name] = await interleave(jobs, rounds, 'flat');
}
progress('');
const text = report(results);
console.log(text);
if (options.write) write('scope', text);
const missed = options.check ? missedTargets(results) : [];
for (const line of missed) console.error(line);
if (missed.length > 0) process.exitCode = 1;
