import { execFile } from 'node:child_process';
import { appendFileSync, chownSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { postgresQuery } from '../chaos/support/databases/postgres.mjs';
import { copyFiles } from './copy-files.mjs';
import { postmasterIn, signalTree } from './processes.mjs';

const run = promisify(execFile);

/** @typedef {{ bin: string, as: { uid?: number, gid?: number } }} Programs of PostgreSQL, and the user that runs them */

/** One PostgreSQL server with a data directory and a port of its own. */
export class PostgresNode {
  #programs;
  #folder;
  #data;

  /**
   * @param {string} name
   * @param {number} port
   * @param {string} parent folder of the nodes' folders
   * @param {Programs} programs
   */
  constructor(name, port, parent, programs) {
    this.name = name;
    this.port = port;
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    this.query = postgresQuery(this.url);
    this.#programs = programs;
    this.#folder = join(parent, name);
    this.#data = join(this.#folder, 'data');
    mkdirSync(this.#folder);
    const { uid, gid } = programs.as;
    if (uid !== undefined && gid !== undefined) chownSync(this.#folder, uid, gid);
    // Also when this program is interrupted.
    process.once('exit', () => this.kill());
  }

  /** @param {readonly string[]} settings lines of postgresql.conf */
  async create(settings) {
    await this.#run('initdb', ['-D', this.#data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']);
    appendFileSync(join(this.#data, 'postgresql.conf'), `\n${settings.join('\n')}\n`);
  }

  /**
   * Becomes a standby of the other node, as a new copy of it.
   * @param {PostgresNode} primary
   */
  async copy(primary) {
    rmSync(this.#data, { recursive: true, force: true });
    if (existsSync(join(this.#programs.bin, 'pg_basebackup'))) {
      const from = `${primary.url}?application_name=${this.name}`;
      await this.#run('pg_basebackup', ['-D', this.#data, '-d', from, '-R', '-c', 'fast', '--no-sync']);
    } else await copyFiles(primary.url, primary.#data, this.#data, this.name, this.#programs.as);
    // The copy has the primary's list of synchronous standbys, which would keep it from committing when it is promoted.
    appendFileSync(join(this.#data, 'postgresql.auto.conf'), `synchronous_standby_names = ''\n`);
  }

  start() {
    const settings = `-p ${this.port} -k ${this.#folder} -c listen_addresses=127.0.0.1`;
    return this.#control('start', '-l', join(this.#folder, 'log'), '-o', settings);
  }

  /** @param {'fast' | 'immediate'} how `fast` disconnects clients and sends everything to the standby first */
  stop(how) {
    return this.#control('stop', '-m', how);
  }

  promote() {
    return this.#control('promote');
  }

  /** As when the machine loses its power: nothing is flushed, nothing is closed. */
  kill() {
    this.#signal('SIGKILL');
  }

  /** As when the machine hangs: connections stay open, and nothing arrives on them. */
  freeze() {
    this.#signal('SIGSTOP');
  }

  thaw() {
    this.#signal('SIGCONT');
  }

  /** @param {NodeJS.Signals} signal to nobody if the server does not run */
  #signal(signal) {
    const pid = postmasterIn(this.#data);
    if (pid !== undefined) signalTree([pid], signal);
  }

  /** @param {string[]} command */
  #control(...command) {
    return this.#run('pg_ctl', [...command, '-D', this.#data, '-w', '-s']);
  }

  /** @param {string} program @param {string[]} args */
  async #run(program, args) {
    await run(join(this.#programs.bin, program), args, { ...this.#programs.as, cwd: this.#folder });
  }
}
