// @ts-check
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/** @type {Set<ChildProcess>} */
const running = new Set();
process.on('exit', () => running.forEach((relay) => relay.kill('SIGKILL')));

/** The processes that share the work. One that exits is replaced. */
export class Relays {
  /** @type {Map<string, number>} how often the broker has acknowledged each event */
  acknowledged = new Map();
  /** @type {string[]} how they exited when nobody had killed them */
  crashes = [];
  #settings;
  /** @type {Set<ChildProcess>} */
  #relays = new Set();
  /** @type {ChildProcess[]} those that deliver */
  #started = [];
  #isClosing = false;

  /**
   * @param {Record<string, unknown>} settings
   * @param {number} count
   */
  constructor(settings, count) {
    this.#settings = settings;
    for (let n = 0; n < count; n += 1) this.#start();
  }

  #start() {
    const relay = fork(new URL('relay.mjs', import.meta.url), [JSON.stringify(this.#settings)], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let errors = '';
    relay.stderr?.setEncoding('utf8').on('data', (text) => (errors = (errors + text).slice(-2000)));
    this.#relays.add(relay);
    running.add(relay);
    relay.on('message', (/** @type {string} */ id) => {
      if (id === 'started') this.#started.push(relay);
      else this.acknowledged.set(id, (this.acknowledged.get(id) ?? 0) + 1);
    });
    relay.once('exit', (code, signal) => {
      this.#relays.delete(relay);
      running.delete(relay);
      this.#started = this.#started.filter((one) => one !== relay);
      if (code !== 0 && signal !== 'SIGKILL') this.crashes.push(`a relay exited with ${code ?? signal}: ${errors}`);
      if (!this.#isClosing) this.#start();
    });
  }

  /** One of those that deliver. @returns {Promise<ChildProcess>} */
  async one() {
    for (;;) {
      const one = this.#started[Math.floor(Math.random() * this.#started.length)];
      if (one) return one;
      await pause(20);
    }
  }

  async close() {
    this.#isClosing = true;
    const exits = [...this.#relays].map((relay) => once(relay, 'exit'));
    for (const relay of this.#relays) relay.kill(this.#started.includes(relay) ? 'SIGTERM' : 'SIGKILL');
    await Promise.all(exits);
  }
}
