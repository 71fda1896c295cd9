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
import { targets, works } from './works.mjs';

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
const asked = pick(options.work ?? (options.check ? Object.keys(targets).join() : undefined), Object.keys(works));

/** @type {import('./report.mjs').Results} */
const results = { base: BASE, contestants: new Map(names.map((name) => [name, all[name]])), works: {} };
for (const work of asked) results.works[work] = await interleave(names, rounds, work);
progress('');
const text = report(results);
console.log(text);
if (options.write) write('scope', text);
const missed = options.check ? missedTargets(results) : [];
for (const line of missed) console.error(line);
if (missed.length > 0) process.exitCode = 1;
