import { execFile, execFileSync } from 'node:child_process';
import { appendFileSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { postgresQuery } from './databases.mjs';
import { atExit, ensureInstalled, freePort, postmasterIn, signalTree } from './program.mjs';

const run = promisify(execFile);
const VERSIONS = '/usr/lib/postgresql';
const LAST_OF_LOG = 1000;
const LOOK_AGAIN_MS = 20;
const SETTINGS_FILE = 'lab.conf';

/** One PostgreSQL server on a folder of its own; it can be killed, frozen, started again, followed and promoted. */
export class PostgresNode {
  #folder;
  #settings;

  /**
   * @param {string} name
   * @param {string} folder which is made for the user of PostgreSQL
   * @param {number} port
   * @param {Readonly<Record<string, string>>} [settings] of postgresql.conf
   */
  constructor(name, folder, port, settings = {}) {
    owned(folder);
    this.name = name;
    this.port = port;
    this.data = join(folder, 'data');
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    this.query = postgresQuery(this.url);
    this.#folder = folder;
    this.#settings = settings;
    atExit(() => this.kill());
  }

  /**
   * An empty server, started.
   * @param {string} folder
   * @param {Readonly<Record<string, string>>} [settings]
   * @param {string} [name]
   */
  static async create(folder, settings, name = 'postgres') {
    const node = new PostgresNode(name, folder, await freePort(), settings);
    await node.#run('initdb', ['-D', node.data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']);
    appendFileSync(join(node.data, 'postgresql.conf'), `\ninclude '${SETTINGS_FILE}'\n`);
    await node.start();
    return node;
  }

  /** Resolves when it accepts connections. */
  async start() {
    const own = { port: String(this.port), unix_socket_directories: '', listen_addresses: '127.0.0.1' };
    const lines = Object.entries({ ...own, ...this.#settings }).map(([name, value]) => `${name} = '${value}'`);
    writeFileSync(join(this.data, SETTINGS_FILE), `${lines.join('\n')}\n`);
    // A killed server leaves it, and a process that nobody has waited for looks as if the server still ran.
    rmSync(join(this.data, 'postmaster.pid'), { force: true });
    // Without a log file, pg_ctl's own output would stay open as long as the server runs.
    const log = join(this.#folder, 'log');
    await this.#control('start', '-l', log).catch((/** @type {unknown} */ error) => {
      throw new Error(readFileSync(log, 'utf8').slice(-LAST_OF_LOG), { cause: error });
    });
  }

  /** @param {'fast' | 'immediate'} [how] `fast` disconnects clients and sends everything to the standby first; `immediate` is a crash */
  stop(how = 'immediate') {
    return this.#control('stop', '-m', how);
  }

  /** @param {'fast' | 'immediate'} how */
  async restart(how) {
    await this.stop(how);
    await this.start();
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

  /**
   * A standby of this server, started. It has the settings of this one, except what only a primary needs.
   * @param {string} folder
   * @param {Readonly<Record<string, string>>} [more] settings
   */
  async follower(folder, more) {
    const { synchronous_standby_names: _, ...settings } = this.#settings;
    const standby = new PostgresNode(`${this.name} copy`, folder, await freePort(), { ...settings, ...more });
    await standby.follow(this);
    const isStreaming = `SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'`;
    while ((await this.query(isStreaming)).length === 0) await pause(LOOK_AGAIN_MS);
    return standby;
  }

  /** Becomes a standby of the other node, as a new copy of it, and starts. @param {PostgresNode} primary */
  async follow(primary) {
    rmSync(this.data, { recursive: true, force: true });
    const from = `${primary.url}?application_name=${encodeURIComponent(this.name)}`;
    await this.#run('pg_basebackup', ['-D', this.data, '-d', from, '-R', '-c', 'fast', '--no-sync']);
    // The copy has the primary's list of synchronous standbys, which would keep it from committing when it is promoted.
    appendFileSync(join(this.data, 'postgresql.auto.conf'), `synchronous_standby_names = ''\n`);
    await this.start();
  }

  /** @param {NodeJS.Signals} name to nobody if the server does not run */
  #signal(name) {
    const pid = postmasterIn(this.data);
    if (pid !== undefined) signalTree([pid], name);
  }

  /** @param {string[]} command */
  #control(...command) {
    return this.#run('pg_ctl', [...command, '-D', this.data, '-w', '-s']);
  }

  /** @param {string} program @param {string[]} args */
  async #run(program, args) {
    await run(join(postgresBinaries(), program), args, { ...postgresUser(), cwd: this.#folder });
  }
}

/** @param {string} folder which is made for the user of PostgreSQL */
function owned(folder) {
  mkdirSync(folder, { recursive: true });
  const { uid, gid } = postgresUser();
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
}

/** The newest of Debian's packages; PGBIN names another folder. */
export function postgresBinaries() {
  const chosen = process.env['PGBIN'];
  if (chosen) return chosen;
  ensureInstalled('pg_ctlcluster', ['postgresql']);
  try {
    const [newest] = readdirSync(VERSIONS).toSorted((a, b) => Number(b) - Number(a));
    if (newest) return join(VERSIONS, newest, 'bin');
  } catch {
    // Reported below, with the solution.
  }
  throw new Error(
    `This program starts its own PostgreSQL, and there is no initdb under ${VERSIONS}. ` +
      'Install the package "postgresql" (Debian, Ubuntu), or set PGBIN to the folder of initdb and pg_ctl.',
  );
}

/**
 * PostgreSQL refuses to run as root, so root starts it as the user that its package created.
 * @returns {{ uid?: number, gid?: number }}
 */
export function postgresUser() {
  if (process.getuid?.() !== 0) return {};
  const id = (/** @type {string} */ flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
