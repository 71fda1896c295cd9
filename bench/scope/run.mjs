/**
 * Containers at the work of a request: `node bench/scope/run.mjs [--rounds 12] [--only ambit,awilix] [--work main,deep] [--write]`.
 * `--only hand,ambit --work main,deep` is enough while developing; `--write` replaces the tables in results.md.
 */
import { fork } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { able } from './contestant.mjs';
import { report } from './report.mjs';
import { write } from '../results.mjs';
import { pick } from '../shared/pick.mjs';
import { progress } from '../shared/progress.mjs';
import { flatness, works } from './works.mjs';

const here = new URL('.', import.meta.url);
const BASE = 'hand';
const FIRST = [BASE, 'hand-sync', 'ambit', 'inferdi', 'inferdi-fast'];
const ROUNDS_PER_PROCESS = 4;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '12' },
    only: { type: 'string' },
    work: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);

const files = readdirSync(new URL('contestants/', here)).map((file) => file.replace('.mjs', ''));
const names = pick(options.only, [...new Set([...FIRST, ...files])], [BASE]);
const asked = pick(options.work, [...Object.keys(works).filter((work) => works[work].title), 'bytes', 'flat']);

const contestants = new Map();
for (const name of names) {
  contestants.set(name, (await import(`./contestants/${name}.mjs`)).contestant);
}
const ables = (work) => [...contestants].filter(([, contestant]) => able(contestant, work)).map(([name]) => name);

/** @type {import('./report.mjs').Results} */
const results = { base: BASE, contestants, works: {}, flat: {} };
for (const work of asked.filter((it) => it !== 'flat')) {
  results.works[work] = await interleave(ables(work).map((name) => [name, name, work]));
}
for (const name of asked.includes('flat') ? names : []) {
  const jobs = flatness.filter((work) => able(contestants.get(name), work)).map((work) => [work, name, work]);
  results.flat[name] = await interleave(jobs);
}
progress('');
console.log(report(results));
if (options.write) write('scope', report(results));

/**
 * Runs jobs `[label, contestant, work]` side by side, one measure at a time: a b c, b c a, c a b, ... Each has a process
 * of its own, as a container that has seen other work is up to twice as slow: V8 specialises on what it has seen. A
 * process is also one throw of dice (what is inlined, where things lie), so a fresh one takes over every few rounds.
 * Gives label -> one number a round.
 */
async function interleave(jobs) {
  const measures = Object.fromEntries(jobs.map(([label]) => [label, []]));
  for (let done = 0; done < rounds; done += ROUNDS_PER_PROCESS) {
    const running = [];
    for (const [label, name, work] of jobs) {
      progress(`${work}: ${name}, round ${done + 1} of ${rounds}`);
      running.push({ label, ...(await start(name, work)) });
    }
    for (let round = done; round < Math.min(rounds, done + ROUNDS_PER_PROCESS); round++) {
      const first = round % running.length;
      for (const { label, measure } of [...running.slice(first), ...running.slice(0, first)]) {
        measures[label].push(await measure());
      }
    }
    for (const { stop } of running) stop();
  }
  return measures;
}

/** Starts a process and waits until it has checked the contestant and warmed up. */
async function start(name, work) {
  const child = fork(new URL('child.mjs', here), [name, work], {
    execArgv: ['--expose-gc'],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const answer = () =>
    new Promise((resolve, reject) => {
      const died = (code) => reject(new Error(`${name} failed at ${work}: exit code ${code}`));
      child.once('exit', died);
      child.once('message', (message) => {
        child.off('exit', died);
        resolve(message);
      });
    });
  await answer();
  return {
    measure: () => {
      child.send('measure');
      return answer();
    },
    stop: () => child.kill(),
  };
}
