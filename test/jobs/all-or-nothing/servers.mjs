import { fork } from 'node:child_process';

/**
 * @typedef {{ order: string, fault?: import('./faults.mjs').Fault, fails?: boolean }} Placing `fails`: its work throws after the last statement
 * @typedef {{ outcome: string, statements: string[] }} Placed
 */

/** The server process: a new one is started for the order after one that has killed it. */
export class Servers {
  #settings;
  #program;
  /** @type {Promise<import('node:child_process').ChildProcess> | undefined} */
  #child;

  /**
   * @param {{ url: string, queueOutside: boolean, boss?: string }} settings
   * @param {URL} [program] which is the server
   */
  constructor(settings, program = new URL('server.mjs', import.meta.url)) {
    this.#settings = settings;
    this.#program = program;
  }

  /**
   * @param {Placing} placing
   * @returns {Promise<Placed>} what the server said; `killed` where it could say nothing
   */
  async place(placing) {
    const child = await (this.#child ??= this.#start());
    return new Promise((resolve, reject) => {
      child.once('message', (placed) => resolve(placed));
      child.once('exit', (code, signal) => {
        this.#child = undefined;
        if (signal === 'SIGKILL') resolve({ outcome: 'killed', statements: [] });
        else reject(new Error(`The server exited with ${code ?? signal}`));
      });
      child.send(placing);
    }).finally(() => child.removeAllListeners());
  }

  async stop() {
    const child = await this.#child?.catch(() => undefined);
    child?.kill();
  }

  /** @returns {Promise<import('node:child_process').ChildProcess>} */
  #start() {
    const child = fork(this.#program, [JSON.stringify(this.#settings)]);
    return new Promise((resolve, reject) => {
      child.once('message', () => resolve(child));
      child.once('exit', (code) => reject(new Error(`The server did not start: ${code}`)));
    }).finally(() => child.removeAllListeners());
  }
}
