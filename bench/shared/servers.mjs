import { fork } from 'node:child_process';
import { openLoad } from './load.mjs';

const CONNECTIONS = 16;
const WARM_UPS = 4;
/** Answers on each connection before a measure begins: to wake up after the others' turns is not what is measured. */
const WAKING = 4;

/**
 * @typedef {object} Server
 * @property {(requests: number) => Promise<Measure>} measure
 * @property {() => Promise<void> | void} stop
 *
 * @typedef {object} Measure
 * @property {number} cpu microseconds of the server's process per request
 * @property {number} rate requests per second
 */

/**
 * All contestants side by side, one measure at a time, each time another one first. A process is one throw of dice (what
 * is inlined, where things lie), so fresh ones take over every few rounds. Gives name -> one measure a round.
 *
 * @param {string[]} names
 * @param {(name: string) => Promise<Server>} start
 * @param {{ processes: number, rounds: number, requests: number }} times
 * @returns {Promise<Record<string, Measure[]>>}
 */
export async function interleave(names, start, { processes, rounds, requests }) {
  const measures = Object.fromEntries(names.map((name) => [name, []]));
  for (let process = 0; process < processes; process++) {
    const running = [];
    for (const name of names) running.push({ name, ...(await start(name)) });
    for (let round = 0; round < rounds; round++) {
      const first = round % running.length;
      for (const { name, measure } of [...running.slice(first), ...running.slice(0, first)]) {
        measures[name].push(await measure(requests));
      }
    }
    for (const { stop } of running) await stop();
  }
  return measures;
}

/**
 * Starts a contestant's file in a process of its own, sees that it gives the right answer, and warms it up.
 *
 * @param {URL} file
 * @param {object} work
 * @param {(i: number) => { method: string, path?: string, body?: string }} work.requestOf what connection `i` asks for
 * @param {(answer: string) => void} work.check throws at a wrong answer
 * @param {number} work.warmUp how many requests
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<Server & { answered: () => number }>}
 */
export async function startServer(file, { requestOf, check, warmUp }, env = {}) {
  const child = fork(new URL('child.mjs', import.meta.url), [file.href], {
    env: { ...process.env, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  let onMessage = () => {};
  let onExit = () => {};
  let answered = 0;
  child.on('message', (message) => onMessage(message));
  child.on('exit', (code) => onExit(new Error(`${file.pathname} failed: exit code ${code}`)));
  const answer = () => new Promise((resolve, reject) => ([onMessage, onExit] = [resolve, reject]));

  const port = await answer();
  const cpu = () => {
    child.send('cpu');
    return answer();
  };
  // Connections are new each time: while others are measured, a server may close those that are idle.
  const measure = async (count) => {
    const load = await openLoad(port, { connections: CONNECTIONS, requestOf, check });
    await load.send(CONNECTIONS * WAKING);
    const [cpuBefore, before] = [await cpu(), performance.now()];
    await load.send(count);
    const [seconds, cpuAfter] = [(performance.now() - before) / 1000, await cpu()];
    load.close();
    answered += CONNECTIONS * (1 + WAKING) + count;
    return { cpu: (cpuAfter - cpuBefore) / count, rate: count / seconds };
  };
  // In parts, because V8 compiles much anew when it has seen connections close for the first time.
  for (let part = 0; part < WARM_UPS; part++) await measure(warmUp / WARM_UPS);
  return {
    measure,
    answered: () => answered,
    stop: () =>
      new Promise((resolve) => {
        onExit = resolve;
        child.kill();
      }),
  };
}
