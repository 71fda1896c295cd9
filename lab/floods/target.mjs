import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { kept, peakMemoryMb, temporaryFolder } from '../kit/program.mjs';

/** @param {string} path */
const file = (path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * The command of an application: the program, its arguments, and a line by which its port is known.
 * @param {string} name
 * @param {string} folder
 */
function programOf(name, folder) {
  const [what = '', detail = ''] = name.split(' ');
  if (what === 'service')
    return { args: [file('../../service/dist/main.js')], env: { HOST_VARIANT: detail, DATA_DIR: folder, PORT: '0' } };
  return { args: [file('./apps.mjs'), what], env: {} };
}

/** A server in a process of its own, with a heap of so many MB. */
export class Target {
  exited = false;
  port = 0;
  #child;

  /** @param {import('node:child_process').ChildProcess} child */
  constructor(child) {
    this.#child = child;
    child.once('exit', () => (this.exited = true));
  }

  /** @param {string} name @param {number} heapMb */
  static async start(name, heapMb) {
    const folder = temporaryFolder();
    const { args, env } = programOf(name, folder);
    const child = kept(
      spawn(process.execPath, [`--max-old-space-size=${heapMb}`, ...args], {
        env: { ...process.env, NODE_ENV: 'production', LOG_LEVEL: 'info', ...env },
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    );
    const target = new Target(child);
    target.port = await new Promise((resolve, reject) => {
      child.once('exit', () => reject(new Error(`${name} did not start`)));
      createInterface({ input: child.stdout }).on('line', (line) => {
        const port = /"port":(\d+)/.exec(line)?.[1] ?? /"url":"http:\/\/[^:]+:(\d+)/.exec(line)?.[1];
        if (port) resolve(Number(port));
      });
    });
    return target;
  }

  /** The most that it had in memory. */
  get peakMb() {
    return peakMemoryMb(this.#child.pid);
  }

  async stop() {
    if (!this.exited) {
      this.#child.kill('SIGKILL');
      await once(this.#child, 'exit');
    }
  }
}
