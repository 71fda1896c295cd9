import { readdirSync, readFileSync } from 'node:fs';

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
