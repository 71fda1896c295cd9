import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { kept } from '../kit/program.mjs';

/** Its version 1.0.1 contains Litestream 0.3.13. */
const PACKAGE = '@flydotio/litestream@1.0.1';
const FOLDER = fileURLToPath(new URL('../../.cache/litestream', import.meta.url));
const PROGRAM = join(FOLDER, `node_modules/@flydotio/litestream-${process.platform}-${process.arch}/litestream`);

function ensureInstalled() {
  if (existsSync(PROGRAM)) return;
  const options = ['--no-save', '--no-package-lock', '--loglevel=error'];
  execFileSync('npm', ['install', '--prefix', FOLDER, ...options, PACKAGE], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Litestream beside the service: it copies what is appended to the `-wal` file into a folder, as it would to another machine. */
export class Litestream {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  #file;
  #replica;
  #log = '';

  /**
   * @param {string} file of the database
   * @param {string} replica a folder
   */
  constructor(file, replica) {
    this.#file = file;
    this.#replica = replica;
  }

  get pid() {
    return this.#child?.pid ?? 0;
  }

  /** Resolves when it has a first copy of the whole database. */
  async start() {
    ensureInstalled();
    const child = kept(spawn(PROGRAM, ['replicate', this.#file, `file://${this.#replica}`]));
    this.#child = child;
    /** @type {Promise<void>} */
    const copied = new Promise((resolve) => {
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
          this.#log += text;
          if (this.#log.includes('snapshot written')) resolve();
        });
    });
    const exited = once(child, 'exit').then(() => Promise.reject(new Error(`Litestream exited:\n${this.#log}`)));
    exited.catch(() => undefined);
    await Promise.race([copied, exited]);
  }

  /**
   * @param {string} target a file that does not exist
   * @param {Date} [until]
   */
  async restore(target, until) {
    const when = until === undefined ? [] : ['-timestamp', until.toISOString()];
    await promisify(execFile)(PROGRAM, ['restore', '-o', target, ...when, `file://${this.#replica}`]);
  }
}
