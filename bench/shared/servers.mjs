import { openLoad } from './load.mjs';
import { startProcess } from './process.mjs';

const CONNECTIONS = 16;
const WARM_UPS = 4;
/** What comes before a measure and does not count: to wake up after the others' turns is not what is measured. */
const WAKING = { requests: 4 * CONNECTIONS, ms: 1000 };

/**
 * @typedef {{ requests: number } | { seconds: number }} Turn so many requests, or as many as complete in that time
 *
 * @typedef {object} Server
 * @property {(turn: Turn) => Promise<Measure>} measure
 * @property {() => Promise<void> | void} stop
 *
 * @typedef {object} Measure
 * @property {number} cpu microseconds of the server's process per request
 * @property {number} [databaseCpu] the same of the database's processes, where they are its own and on this machine
 * @property {number} rate requests per second
 */

/**
 * All contestants side by side, one measure at a time, each time another one first. A process is one throw of dice (what
 * is inlined, where things lie), so fresh ones take over every few rounds. Gives name -> one measure a round.
 *
 * @param {string[]} names
 * @param {(name: string) => Promise<Server>} start
 * @param {{ processes: number, rounds: number } & Turn} times
 * @returns {Promise<Record<string, Measure[]>>}
 */
export async function interleave(names, start, { processes, rounds, ...turn }) {
  const measures = Object.fromEntries(names.map((name) => [name, []]));
  for (let process = 0; process < processes; process++) {
    const running = [];
    for (const name of names) running.push({ name, ...(await start(name)) });
    for (let round = 0; round < rounds; round++) {
      const first = round % running.length;
      for (const { name, measure } of [...running.slice(first), ...running.slice(0, first)]) {
        measures[name].push(await measure(turn));
      }
    }
    for (const { stop } of running) await stop();
  }
  return measures;
}

/**
 * Starts a contestant's file in a process of its own, checks its first response, and warms it up.
 *
 * @param {URL} file
 * @param {object} work
 * @param {(i: number) => { method: string, path?: string, body?: string }} work.requestOf what connection `i` asks for
 * @param {(response: string) => void} work.check throws if the response is wrong
 * @param {number} work.warmUp how many requests
 * @param {NodeJS.ProcessEnv} [env]
 * @param {() => Promise<number | undefined>} [databaseCpu] microseconds that the processes of its database have used
 * @returns {Promise<Server & { completed: () => number }>}
 */
export async function startServer(file, { requestOf, check, warmUp }, env = {}, databaseCpu = async () => undefined) {
  const { port, cpu, stop } = await startProcess(file, env);
  let completed = 0;
  // Connections are new each time: while others are measured, a server may close those that are idle.
  const measure = async ({ requests: count, seconds }) => {
    const requests = Array.from({ length: CONNECTIONS }, (_, i) => requestOf(i));
    const load = await openLoad(port, { connections: CONNECTIONS, requestOf: (i) => requests[i], check });
    const send = () => (seconds ? load.sendFor(1000 * seconds) : load.send(count));
    const waking = await (seconds ? load.sendFor(WAKING.ms) : load.send(WAKING.requests));
    const [before, databaseBefore, start] = [await cpu(), await databaseCpu(), performance.now()];
    const { length: completedNow } = await send();
    const [end, after, databaseAfter] = [performance.now(), await cpu(), await databaseCpu()];
    load.close();
    completed += CONNECTIONS + waking.length + completedNow;
    return {
      cpu: (after - before) / completedNow,
      databaseCpu: databaseBefore === undefined ? undefined : (databaseAfter - databaseBefore) / completedNow,
      rate: completedNow / ((end - start) / 1000),
    };
  };
  // In parts, because V8 recompiles much code after the first connections were closed.
  for (let part = 0; part < WARM_UPS; part++) await measure({ requests: warmUp / WARM_UPS });
  return { measure, completed: () => completed, stop };
}
