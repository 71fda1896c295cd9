import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Sends a signal to these processes and to everything that they started, parents first: a stopped parent starts nothing more.
 * @param {readonly number[]} roots
 * @param {NodeJS.Signals} signal
 */
export function signalTree(roots, signal) {
  const signalled = new Set();
  for (let next = [...roots]; next.length > 0; next = childrenOf(signalled)) {
    for (const pid of next) {
      signalled.add(pid);
      send(pid, signal);
    }
  }
}

/**
 * The process id of the server that runs in this data directory. A server that was killed leaves its file behind, and the id in it may be
 * that of any other process by now.
 * @param {string} data
 */
export function postmasterIn(data) {
  try {
    const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(data) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** @param {number} pid @param {NodeJS.Signals} signal */
function send(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It has exited.
  }
}

/** @param {ReadonlySet<number>} pids @returns {number[]} those not among them */
function childrenOf(pids) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => !pids.has(pid) && pids.has(parentOf(pid)));
}

/** @param {number} pid */
function parentOf(pid) {
  try {
    // The name of the program is in parentheses, and may have spaces: "17 (postgres) S 1 ...".
    return Number(readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[1]);
  } catch {
    return 0;
  }
}
