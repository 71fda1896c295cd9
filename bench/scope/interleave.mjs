import { fork } from 'node:child_process';
import { progress } from '../shared/progress.mjs';
import { works } from './works.mjs';

const ROUNDS_PER_PROCESS = 4;
const ROUNDS_PER_ONCE = 3;
const GC = ['--expose-gc'];
const MOST_MEGABYTES = 1024;
const MOST_SECONDS = 120;

/** @typedef {number | Record<string, number>} Measure a number, or by the name of the measure */

/**
 * Runs jobs `[label, contestant, work]` side by side, one measure at a time: a b c, b c a, c a b, ... Each has a process
 * of its own, as a container that has seen other work is up to twice as slow: V8 specialises on what it has seen. A
 * process is also one throw of dice (what is inlined, where things lie), so a fresh one takes over every few rounds.
 * What is done once in a fresh process takes part in every third round, after that the next.
 * Gives label -> one measure a round, or the error at which the label failed.
 *
 * @param {[label: string, contestant: string, work: string][]} jobs
 * @returns {Promise<Record<string, Measure[] | Error>>}
 */
export async function interleave(jobs, rounds, title) {
  const once = jobs.some(([, , work]) => works[work]?.once);
  const perProcess = once ? 1 : ROUNDS_PER_PROCESS;
  const all = once ? Math.ceil(rounds / ROUNDS_PER_ONCE) : rounds;
  /** @type {Record<string, Measure[] | Error>} */
  const measures = Object.fromEntries(jobs.map(([label]) => [label, []]));
  for (let done = 0; done < all; done += perProcess) {
    const running = [];
    for (const [label, name, work] of jobs) {
      if (measures[label] instanceof Error) continue;
      progress(`${title}: ${label}, round ${done + 1} of ${all}`);
      try {
        running.push({ label, ...(await start(name, work)) });
      } catch (error) {
        measures[label] = error;
      }
    }
    for (let round = done; round < Math.min(all, done + perProcess); round++) {
      const first = round % (running.length || 1);
      for (const { label, measure } of [...running.slice(first), ...running.slice(0, first)]) {
        if (measures[label] instanceof Error) continue;
        try {
          measures[label].push(await measure());
        } catch (error) {
          measures[label] = error;
        }
      }
    }
    for (const { stop } of running) stop();
  }
  return measures;
}

/** Starts a process and waits until it has checked the contestant and warmed up. */
async function start(name, work) {
  const child = fork(new URL('child.mjs', import.meta.url), [name, work], {
    execArgv: works[work]?.once ? [...GC, `--max-old-space-size=${MOST_MEGABYTES}`] : GC,
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
  const reply = () =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => fail(`took more than ${MOST_SECONDS} seconds`), MOST_SECONDS * 1000);
      const fail = (reason) => {
        clearTimeout(timer);
        child.kill('SIGKILL');
        reject(new Error(reason));
      };
      const exited = (code, signal) => fail(reasonOf(said) ?? `exited with ${signal ?? code}`);
      child.once('close', exited);
      child.once('message', (message) => {
        clearTimeout(timer);
        child.off('close', exited);
        resolve(message);
      });
    });
  await reply();
  return {
    measure: () => {
      child.send('measure');
      return reply();
    },
    stop: () => child.kill(),
  };
}

/** The line of what a process wrote before it exited that names the error. */
const reasonOf = (text) => /^(?:FATAL ERROR|\w*Error).*$/m.exec(text)?.[0];
