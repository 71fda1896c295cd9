import { StartError, startServer, stopServer } from './server.mjs';

const MOST_FAILED_STARTS = 20;

/** @typedef {import('./server.mjs').Server} Server */

/** Starts the service again whenever it exits, as a supervisor does. */
export class Supervisor {
  failedStarts = 0;
  /** @type {string[]} how it exited when nobody had killed it */
  crashes = [];
  #stopping = false;
  /** @type {Promise<Server>} */
  #server;

  /**
   * @param {import('./server.mjs').HostVariant} host
   * @param {Record<string, string>} env
   */
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
