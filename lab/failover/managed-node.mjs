import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, openSync, closeSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { postgresQuery } from '../kit/databases.mjs';
import { postgresUser } from '../kit/postgres.mjs';
import { atExit, postmasterIn, signalTree } from '../kit/program.mjs';

/**
 * @typedef {object} Ports
 * @property {number} postgres
 * @property {number} check where HAProxy asks for the role
 */

/** A PostgreSQL server with the agent of a failover manager, which starts and stops it. */
export class ManagedNode {
  #command;
  #options;
  #folder;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #agent;

  /**
   * @param {string} name
   * @param {Ports} ports
   * @param {string} parent folder of the nodes' folders
   * @param {(folder: string) => { command: readonly string[], env?: NodeJS.ProcessEnv }} agentIn writes what the agent needs
   */
  constructor(name, ports, parent, agentIn) {
    this.name = name;
    this.ports = ports;
    this.url = `postgres://postgres@127.0.0.1:${ports.postgres}/postgres`;
    this.query = postgresQuery(this.url);
    this.#folder = join(parent, name);
    mkdirSync(this.#folder);
    const { uid, gid } = postgresUser();
    if (uid !== undefined && gid !== undefined) chownSync(this.#folder, uid, gid);
    const { command, env } = agentIn(this.#folder);
    this.#command = command;
    atExit(() => this.kill());
    this.#options = { ...postgresUser(), cwd: this.#folder, env: { ...process.env, ...env } };
  }

  get runs() {
    return this.#agent !== undefined && this.#agent.exitCode === null && this.#agent.signalCode === null;
  }

  start() {
    const log = openSync(join(this.#folder, 'log'), 'a');
    const [program = '', ...args] = this.#command;
    this.#agent = spawn(program, args, { ...this.#options, stdio: ['ignore', log, log] });
    closeSync(log);
  }

  kill() {
    signalTree(this.#roots, 'SIGKILL');
  }

  freeze() {
    signalTree(this.#roots, 'SIGSTOP');
  }

  thaw() {
    signalTree(this.#roots, 'SIGCONT');
  }

  /** PostgreSQL goes on without its agent. */
  freezeAgent() {
    this.#agent?.kill('SIGSTOP');
  }

  /** What the agent and PostgreSQL wrote. */
  log() {
    return readFileSync(join(this.#folder, 'log'), 'utf8');
  }

  /** The agent stops PostgreSQL as `fast` does, and lets the others know. */
  async stop() {
    if (!this.runs || this.#agent === undefined) return;
    const exited = once(this.#agent, 'exit');
    this.#agent.kill('SIGTERM');
    await exited;
  }

  /** PostgreSQL is not always below its agent. */
  get #roots() {
    const agent = this.runs ? this.#agent?.pid : undefined;
    return [agent, postmasterIn(join(this.#folder, 'data'))].filter((pid) => pid !== undefined);
  }
}
