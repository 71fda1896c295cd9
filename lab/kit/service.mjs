import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { kept } from './program.mjs';

export const MAIN = fileURLToPath(new URL('../../service/dist/main.js', import.meta.url));
const MOST_ERRORS = 20;
const ERROR = 50;
const MOST_FAILED_STARTS = 20;

/** @typedef {import('./options.mjs').Host} Host */
/** @typedef {Record<string, string>} Env */

/**
 * @typedef {object} Server a service that runs in a process of its own
 * @property {string} url
 * @property {import('node:child_process').ChildProcess} process
 * @property {Promise<{ code: number | null, signal: NodeJS.Signals | null }>} exited
 * @property {string[]} errors the latest lines that were logged as errors or written to stderr
 */

/** The service could not start; a supervisor would start it again. */
class StartError extends Error {}

/**
 * The environment of the service, without its variables in ours.
 * @param {Host} host
 * @param {Env} env
 */
export function environment(host, env) {
  const { DATABASE_URL: _url, DATA_DIR: _folder, ...rest } = process.env;
  return { ...rest, NODE_ENV: 'production', HOST_VARIANT: host, PORT: '0', LOG_LEVEL: 'info', ...env };
}

/**
 * Resolves when the service listens; rejects with a StartError when it exits before that.
 * @param {Host} host
 * @param {Env} env
 * @returns {Promise<Server>}
 */
export async function startServer(host, env) {
  const child = kept(
    spawn(process.execPath, [MAIN], { env: environment(host, env), stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  /** @type {string[]} */
  const errors = [];
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes('"msg":"listening"')) resolve(JSON.parse(line).url);
      if (levelOf(line) >= ERROR) note(line);
    });
    createInterface({ input: child.stderr }).on('line', note);
    child.once('close', (code) => {
      reject(new StartError(`The service exited with code ${code} before it listened:\n${errors.join('\n')}`));
    });
  });
  return { url, process: child, exited, errors };

  /** @param {string} line */
  function note(line) {
    errors.push(line);
    if (errors.length > MOST_ERRORS) errors.shift();
  }
}

/** @param {string} line of the log, which begins with its level */
function levelOf(line) {
  return Number(/^\{"level":(\d+)/.exec(line)?.[1] ?? 0);
}

/**
 * Sends SIGTERM, and returns how long the exit took and its code.
 * @param {Server} server
 */
export async function stopServer(server) {
  const start = performance.now();
  server.process.kill('SIGTERM');
  const { code, signal } = await server.exited;
  return { code, signal, ms: performance.now() - start };
}

/** Starts the service again whenever it exits, as a supervisor does. */
export class Supervisor {
  failedStarts = 0;
  /** @type {string[]} how it exited when nobody had killed it */
  crashes = [];
  #stopping = false;
  /** @type {Promise<Server>} */
  #server;

  /** @param {Host} host @param {Env} env */
  constructor(host, env) {
    this.host = host;
    this.env = env;
    this.#server = this.#start();
  }

  /** The server that listens, or the next one that will. */
  get server() {
    return this.#server;
  }

  async kill() {
    const { process, exited } = await this.#server;
    process.kill('SIGKILL');
    await exited;
  }

  async stop() {
    const server = await this.#server;
    this.#stopping = true;
    return stopServer(server);
  }

  /** @returns {Promise<Server>} */
  async #start() {
    const server = await this.#tryToStart();
    void server.exited.then(({ code, signal }) => {
      if (this.#stopping) return;
      if (signal !== 'SIGKILL') this.crashes.push(`exit code ${code}, signal ${signal}: ${server.errors.join('\n')}`);
      this.#server = this.#start();
    });
    return server;
  }

  /** @returns {Promise<Server>} */
  async #tryToStart() {
    try {
      return await startServer(this.host, this.env);
    } catch (error) {
      // Its database became unavailable before it listened. A supervisor starts it again.
      if (!(error instanceof StartError) || ++this.failedStarts > MOST_FAILED_STARTS) throw error;
      return this.#tryToStart();
    }
  }
}
