import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const START_TIMEOUT_MS = 600_000;

/**
 * Starts the server of a database and waits until `connect` succeeds; after a crash that may take long.
 *
 * @template T
 * @param {string} command
 * @param {string[]} args
 * @param {{ as?: { uid?: number, gid?: number }, stopWith: NodeJS.Signals, connect: () => Promise<T> }} options
 */
export async function startProgram(command, args, { as = {}, stopWith, connect }) {
  const child = spawn(command, args, { ...as, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (errors = (errors + text).slice(-2000)));
  const exited = once(child, 'exit');
  const kill = () => child.kill(stopWith);
  process.on('exit', kill);
  const deadline = Date.now() + START_TIMEOUT_MS;
  let connection;
  while (!connection) {
    if (child.exitCode !== null) throw new Error(`${command} exited with ${child.exitCode}:\n${errors}`);
    connection = await connect().catch((/** @type {unknown} */ error) => {
      if (Date.now() > deadline) throw error;
    });
    if (!connection) await pause(100);
  }
  return {
    connection,
    /** Gives what was used since then by the processes that were there already: not by a vacuum that has begun meanwhile. */
    startCpu: () => {
      const before = cpuOf(child.pid);
      return () => {
        let sum = 0;
        for (const [pid, used] of cpuOf(child.pid)) sum += used - (before.get(pid) ?? used);
        return sum;
      };
    },
    stop: async () => {
      process.off('exit', kill);
      kill();
      await exited;
    },
  };
}

/** Microseconds of CPU that each process has used, with all of its threads: the one with this id, and its children. */
function cpuOf(pid, used = new Map()) {
  let nanoseconds = 0;
  for (const thread of listed(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`;
    nanoseconds += Number(textOf(`${folder}/schedstat`).split(' ')[0]);
    for (const child of textOf(`${folder}/children`).split(' ').filter(Boolean)) cpuOf(child, used);
  }
  return used.set(pid, nanoseconds / 1000);
}

const listed = (folder) => unlessExited(() => readdirSync(folder)) ?? [];
const textOf = (file) => unlessExited(() => readFileSync(file, 'utf8')) ?? '';

/** Processes and threads may exit while they are looked at. */
function unlessExited(look) {
  try {
    return look();
  } catch (error) {
    if (!['ENOENT', 'ESRCH'].includes(error.code)) throw error;
    return undefined;
  }
}
