import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { mariadbQuery } from './databases.mjs';
import { freePort, kept, need } from './program.mjs';

const run = promisify(execFile);
const START_MS = 60_000;
const LOOK_AGAIN_MS = 50;
const LAST_OF_LOG = 1000;

/** One MariaDB server on a folder; it can be killed and started again. */
export class MariadbNode {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #server;
  #folder;
  #settings;

  /**
   * @param {string} folder
   * @param {number} port
   * @param {Record<string, string>} settings
   */
  constructor(folder, port, settings) {
    this.#folder = folder;
    this.#settings = settings;
    this.port = port;
    const root = `mariadb://root@127.0.0.1:${port}`;
    this.url = `${root}/lab`;
    this.admin = mariadbQuery(`${root}/mysql`);
  }

  /**
   * An empty server, started, without the database of its URL.
   * @param {string} folder
   * @param {Record<string, string>} [settings]
   */
  static async create(folder, settings = {}) {
    need('mariadbd', ['mariadb-server']);
    mkdirSync(folder, { recursive: true });
    const node = new MariadbNode(folder, await freePort(), settings);
    const options = ['--auth-root-authentication-method=normal', '--skip-test-db'];
    await run('mariadb-install-db', ['--no-defaults', ...node.#places, ...options]);
    await node.start();
    return node;
  }

  /** Resolves when it accepts connections. */
  async start() {
    // A server that starts deletes what others have in its folder for temporary tables.
    const own = [`--tmpdir=${this.#folder}`, `--log-error=${join(this.#folder, 'log')}`];
    const net = ['--bind-address=127.0.0.1', `--port=${this.port}`, `--socket=${join(this.#folder, 'socket')}`];
    const settings = Object.entries(this.#settings).map(([name, value]) => `--${name}=${value}`);
    const args = ['--no-defaults', ...this.#places, ...net, ...own, ...settings];
    this.#server = kept(spawn('mariadbd', args, { stdio: 'ignore' }));
    for (const deadline = performance.now() + START_MS; ; await pause(LOOK_AGAIN_MS)) {
      try {
        await this.admin('SELECT 1');
        return;
      } catch (error) {
        const hasExited = this.#server.exitCode !== null;
        if (hasExited || performance.now() > deadline) throw new Error(this.#endOfLog(), { cause: error });
      }
    }
  }

  /** @param {NodeJS.Signals} signal */
  async stop(signal) {
    const server = this.#server;
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill(signal);
    await exited;
  }

  #endOfLog() {
    return readFileSync(join(this.#folder, 'log'), 'utf8').slice(-LAST_OF_LOG);
  }

  get #places() {
    return [`--datadir=${join(this.#folder, 'data')}`, `--user=${userInfo().username}`];
  }
}
