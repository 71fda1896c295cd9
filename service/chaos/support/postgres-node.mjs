import { execFile, execFileSync } from 'node:child_process';
import { appendFileSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { binaries, freePort, user } from './postgres-cluster.mjs';

const run = promisify(execFile);

const LAST_OF_LOG = 1000;

/** One PostgreSQL server on a folder; it can be killed, started again, copied and promoted. */
export class PostgresNode {
  #data;
  #settings;

  /**
   * @param {string} folder which the server's user owns
   * @param {number} port
   * @param {Record<string, string>} settings of postgresql.conf
   */
  constructor(folder, port, settings) {
    this.folder = folder;
    this.#data = join(folder, 'data');
    this.#settings = settings;
    this.port = port;
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  }

  /**
   * An empty server, started.
   * @param {string} folder
   * @param {Record<string, string>} settings
   */
  static async create(folder, settings) {
    owned(folder);
    const node = new PostgresNode(folder, await freePort(), settings);
    await node.#run('initdb', ['-D', node.#data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']);
    await node.start();
    return node;
  }

  /** Resolves when it accepts connections. */
  async start() {
    const given = Object.entries({ listen_addresses: '127.0.0.1', ...this.#settings });
    const lines = [`port = ${this.port}`, "unix_socket_directories = ''"];
    writeFileSync(
      join(this.#data, 'chaos.conf'),
      [...lines, ...given.map(([name, value]) => `${name} = '${value}'`)].join('\n'),
    );
    appendFileSync(join(this.#data, 'postgresql.conf'), "\ninclude 'chaos.conf'\n");
    // A killed server leaves it, and a process that nobody has waited for looks as if the server still ran.
    rmSync(join(this.#data, 'postmaster.pid'), { force: true });
    // Without a log file, pg_ctl's own output would stay open as long as the server runs.
    const log = join(this.folder, 'log');
    await this.#control('start', '-l', log).catch((/** @type {unknown} */ error) => {
      throw new Error(readFileSync(log, 'utf8').slice(-LAST_OF_LOG), { cause: error });
    });
  }

  /** Of the server and its processes. */
  async pids() {
    const main = Number(readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n')[0]);
    const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(main)]);
    return [main, ...stdout.trim().split(/\s+/).filter(Boolean).map(Number)];
  }

  /**
   * A base backup.
   * @param {string} folder
   * @param {string[]} options
   */
  async copyTo(folder, ...options) {
    owned(folder);
    const target = ['-D', join(folder, 'data'), '-c', 'fast', '--no-sync'];
    await this.#run('pg_basebackup', ['-d', this.url, ...target, ...options]);
  }

  /** @param {string} folder of a standby, which is not started yet */
  async follower(folder) {
    await this.copyTo(folder, '-R');
    return this.on(folder);
  }

  /** @param {string} folder of a copy, which becomes a server with the same settings */
  async on(folder) {
    const { synchronous_standby_names: _, archive_mode: _mode, ...settings } = this.#settings;
    return new PostgresNode(folder, await freePort(), settings);
  }

  promote() {
    return this.#control('promote');
  }

  stop() {
    return this.#control('stop', '-m', 'immediate');
  }

  /** @param {string[]} command */
  async #control(...command) {
    await this.#run('pg_ctl', [...command, '-D', this.#data, '-w', '-s']);
  }

  /**
   * @param {string} program
   * @param {string[]} args
   */
  async #run(program, args) {
    await run(join(binaries(), program), args, { ...user(), cwd: this.folder });
  }
}

/**
 * Copies a base backup, which stays as it is, and lets it read an archive when it starts.
 * @param {string} backup
 * @param {string} archive
 * @param {string} folder
 * @param {Date} [until]
 */
export function fromArchive(backup, archive, folder, until) {
  owned(folder);
  execFileSync('cp', ['-a', join(backup, 'data'), folder]);
  // PostgreSQL refuses abbreviations of time zones here, and Z is one.
  const time = until?.toISOString().replace('Z', '+00');
  const target = time === undefined ? '' : `recovery_target_time = '${time}'\n`;
  appendFileSync(
    join(folder, 'data', 'postgresql.conf'),
    `\nrestore_command = 'cp ${archive}/%f %p'\n${target}recovery_target_action = 'promote'\n`,
  );
  writeFileSync(join(folder, 'data', 'recovery.signal'), '');
  chownLike(join(folder, 'data', 'recovery.signal'));
}

/** @param {string} folder which is made for the user of PostgreSQL */
export function owned(folder) {
  mkdirSync(folder, { recursive: true });
  chownLike(folder);
}

/** @param {string} path */
function chownLike(path) {
  const { uid, gid } = user();
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals} name
 */
export function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It has exited.
  }
}

/** @param {readonly number[]} pids that were killed; resolves when none is left */
export async function exited(pids) {
  for (const pid of pids) while (isAlive(pid)) await pause(5);
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    // A zombie has closed its files, unless another thread of it is still exiting.
    return (
      readdirSync(`/proc/${pid}/task`).length > 1 || !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    );
  } catch {
    return false;
  }
}
