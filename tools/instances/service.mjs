import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { start, stop } from '../../service/chaos/support/program.mjs';

const DIST = resolve(import.meta.dirname, '../../service/dist');

/** @typedef {{ DATABASE_URL: string, DATABASE_PREPARE: string, METRICS: string }} Environment */

/** One instance of the service, which can be stopped and started again at its address. */
export class Instance {
  /** @type {import('../../service/chaos/support/program.mjs').Program | undefined} */
  #program;
  #earlier = '';
  url = '';

  /**
   * @param {'express' | 'fastify'} host
   * @param {Environment} environment
   */
  constructor(host, environment) {
    this.host = host;
    this.environment = environment;
  }

  async start() {
    const port = this.url === '' ? '0' : new URL(this.url).port;
    const env = { ...this.environment, HOST_VARIANT: this.host, HOST: '127.0.0.1', PORT: port, LOG_LEVEL: 'info' };
    this.#earlier += this.#program?.output() ?? '';
    this.#program = await start(process.execPath, [resolve(DIST, 'main.js')], /"msg":"listening"/, env);
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

/**
 * The command `npm run stock -- set <productId> <level>`.
 * @param {Environment} environment
 * @param {string} productId
 * @param {number} level
 */
export async function setStock(environment, productId, level) {
  const args = [resolve(DIST, 'stock.js'), 'set', productId, String(level)];
  await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...environment } });
}
