import { start, stop } from '../kit/program.mjs';
import { environment, MAIN } from '../kit/service.mjs';

/** One instance of the service, which can be stopped and started again at its address. */
export class Instance {
  /** @type {import('../kit/program.mjs').Program | undefined} */
  #program;
  #earlier = '';
  #host;
  #env;
  url = '';

  /** @param {import('../kit/options.mjs').Host} host @param {Record<string, string>} env */
  constructor(host, env) {
    this.#host = host;
    this.#env = env;
  }

  async start() {
    const port = this.url === '' ? '0' : new URL(this.url).port;
    this.#earlier += this.#program?.output() ?? '';
    const env = environment(this.#host, { HOST: '127.0.0.1', PORT: port, ...this.#env });
    this.#program = await start(process.execPath, [MAIN], /"msg":"listening"/, env);
    this.url = /"url":"([^"]+)"/.exec(this.#program.output())?.[1] ?? '';
  }

  /** @param {NodeJS.Signals} [signal] */
  async stop(signal) {
    return this.#program && stop(this.#program, signal);
  }

  /** The log lines of requests that got 500. */
  get faults() {
    const lines = (this.#earlier + (this.#program?.output() ?? '')).split('\n');
    return lines.filter((line) => line.includes('"msg":"request failed"') && line.includes('"status":500'));
  }
}
