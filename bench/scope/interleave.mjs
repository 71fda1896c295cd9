import { startChild } from '../shared/process.mjs';
import { progress } from '../shared/command.mjs';

const ROUNDS_PER_PROCESS = 4;

/**
 * Runs contestants at a work side by side, one measure at a time: a b c, b c a, c a b, ... Each has a process
 * of its own, as a container that has seen other work is up to twice as slow: V8 specialises on what it has seen. A
 * process is also one throw of dice (what is inlined, where things lie), so a fresh one takes over every few rounds.
 * Gives contestant -> one measure a round.
 *
 * @param {readonly string[]} names
 * @returns {Promise<Record<string, number[]>>}
 */
export async function interleave(names, rounds, work) {
  const measures = Object.fromEntries(names.map((name) => [name, []]));
  for (let done = 0; done < rounds; done += ROUNDS_PER_PROCESS) {
    const running = [];
    for (const name of names) {
      progress(`${work}: ${name}, round ${done + 1} of ${rounds}`);
      running.push({ name, ...(await start(name, work)) });
    }
    for (let round = done; round < Math.min(rounds, done + ROUNDS_PER_PROCESS); round++) {
      const first = round % running.length;
      for (const { name, ask } of [...running.slice(first), ...running.slice(0, first)])
        measures[name].push(await ask('measure'));
    }
    for (const { stop } of running) await stop();
  }
  return measures;
}

/** Starts a process and waits until it has checked the contestant and warmed up. */
const start = (name, work) =>
  startChild(new URL('child.mjs', import.meta.url), [name, work], {}, { execArgv: ['--expose-gc'] });
