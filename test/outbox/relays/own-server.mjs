// @ts-check
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

const START_MS = 60_000;
/** @type {Set<OwnServer>} */
const running = new Set();
process.on('exit', () => running.forEach((server) => server.signal('SIGKILL')));

/** A server that this program alone uses, with all processes that it starts. */
export class OwnServer {
  #command;
  #args;
  #options;
  #port;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  #output = '';

  /**
   * @param {string} command
   * @param {readonly string[]} args
   * @param {{ port: number, cwd: string, env?: NodeJS.ProcessEnv, uid?: number, gid?: number }} options
   */
  constructor(command, args, { port, env = {}, ...options }) {
    this.#command = command;
    this.#args = args;
    this.#options = { ...options, env: { ...process.env, ...env } };
    this.#port = port;
  }

  /** Resolves when its port accepts connections. Does nothing where it runs. */
  async start() {
    if (running.has(this)) return;
    this.#output = '';
    const child = spawn(this.#command, this.#args, { ...this.#options, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    running.add(this);
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (this.#output = (this.#output + text).slice(-4000)));
    child.on('error', (error) => (this.#output += error.message));
    for (const start = Date.now(); !(await accepts(this.#port)); await pause(20)) {
      if (hasExited(child) || Date.now() - start > START_MS)
        throw new Error(`${this.#command} did not start:\n${this.#output}`);
    }
  }

  /** To all its processes. @param {NodeJS.Signals} signal */
  signal(signal) {
    for (const pid of this.#child?.pid ? withDescendants(this.#child.pid) : []) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has exited.
      }
    }
  }

  /** Leaves it no time to store anything. */
  async kill() {
    const child = this.#child;
    if (!child) return;
    const exited = hasExited(child) ? undefined : once(child, 'exit');
    this.signal('SIGKILL');
    await exited;
    while (await accepts(this.#port)) await pause(20);
    running.delete(this);
  }
}

/** @param {import('node:child_process').ChildProcess} child */
function hasExited({ pid, exitCode, signalCode }) {
  return pid === undefined || exitCode !== null || signalCode !== null;
}

/** @param {number} pid @returns {number[]} */
function withDescendants(pid) {
  const pairs = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const found = [pid];
  for (const one of found) for (const [child = 0, parent] of pairs) if (parent === one) found.push(child);
  return found;
}

/** @param {number} port */
async function accepts(port) {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}
