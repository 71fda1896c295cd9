import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const PODMAN = 'podman';
/** Without systemd, podman cannot repeat a health check by itself, and says so each time. */
const NO_SYSTEMD = /^time=.*systemd connection to \w+ healthchecks?.*\n/gm;
const LONGEST_OUTPUT = 2 ** 26;

/** @typedef {{ args?: readonly string[], env?: Record<string, string>, command?: readonly string[] }} RunOptions */
/** @typedef {{ code: number, stdout: string, stderr: string }} Result */

/** Builds images and runs containers without a daemon, in a folder of its own. */
export class Podman {
  #folder;

  /** @param {string} folder */
  constructor(folder) {
    this.#folder = folder;
  }

  /** @param {readonly string[]} args @returns {Promise<string>} what it printed, without the last line break */
  async do(...args) {
    const { code, stdout, stderr } = await this.try(...args);
    if (code !== 0) throw new Error(`podman ${args.join(' ')} exited with ${code}: ${stderr}${stdout}`.trim());
    return stdout.trim();
  }

  /** @param {readonly string[]} args @returns {Promise<Result>} */
  async try(...args) {
    const { command, all, env } = this.#call(args);
    const run = promisify(execFile)(command, all, { env, maxBuffer: LONGEST_OUTPUT });
    const failed = (/** @type {unknown} */ error) => /** @type {Result} */ (error);
    const { code, stdout, stderr } = await run.then((printed) => ({ code: 0, ...printed }), failed);
    return { code, stdout, stderr: stderr.replaceAll(NO_SYSTEMD, '') };
  }

  /** As `do()`, with the output of the program visible. @param {readonly string[]} args */
  async show(...args) {
    const { command, all, env } = this.#call(args);
    const child = spawn(command, all, { env, stdio: ['ignore', 'inherit', 'inherit'] });
    const code = await new Promise((resolve) => child.once('exit', resolve));
    if (code !== 0) throw new Error(`podman ${args.join(' ')} exited with ${code}`);
  }

  /**
   * Starts a container as strictly as the manifests of Kubernetes: a read-only file system, no capabilities.
   * @param {string} image
   * @param {RunOptions} [options]
   */
  async run(image, { args = [], env = {}, command = [] } = {}) {
    const variables = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
    // The limits are below those of most machines: raising them takes a privilege that a build machine may lack.
    const limits = ['--ulimit', 'nofile=10000:10000', '--ulimit', 'nproc=10000:10000'];
    const strict = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
    const all = ['--detach', '--network', 'host', ...limits, ...strict, ...variables, ...args, image, ...command];
    return new Container(this, await this.do('run', ...all));
  }

  /** @param {readonly string[]} args */
  #call(args) {
    const places = ['--root', join(this.#folder, 'store'), '--runroot', join(this.#folder, 'run')];
    const options = ['--cgroup-manager', 'cgroupfs', '--runtime', 'runc'];
    return {
      command: PODMAN,
      all: [...places, ...options, ...args],
      // For the layers of a build and what `RUN --mount=type=cache` keeps.
      env: { ...process.env, TMPDIR: this.#folder },
    };
  }
}

class Container {
  #podman;
  #id;

  /** @param {Podman} podman @param {string} id */
  constructor(podman, id) {
    this.#podman = podman;
    this.#id = id;
  }

  /** @param {readonly string[]} command */
  exec(...command) {
    return this.#podman.do('exec', this.#id, ...command);
  }

  /** @param {readonly string[]} command */
  tryExec(...command) {
    return this.#podman.try('exec', this.#id, ...command);
  }

  async logs() {
    const { stdout, stderr } = await this.#podman.try('logs', this.#id);
    return stdout + stderr;
  }

  /** Runs the HEALTHCHECK of the image once. */
  async isHealthy() {
    return (await this.#podman.try('healthcheck', 'run', this.#id)).code === 0;
  }

  /** SIGTERM, and SIGKILL after so many seconds. @returns {Promise<number>} the exit code */
  async stop(seconds = 15) {
    await this.#podman.do('stop', '--time', String(seconds), this.#id);
    return Number(await this.#podman.do('inspect', '--format', '{{.State.ExitCode}}', this.#id));
  }

  async start() {
    await this.#podman.do('start', this.#id);
  }

  async remove() {
    await this.#podman.do('rm', '--force', '--time', '0', '--volumes', this.#id);
  }
}
