import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const MOST_ERRORS = 20;
const ERROR = 50;

/** @typedef {'fastify' | 'express'} HostVariant */

/**
 * @typedef {object} Server a service that runs in a process of its own
 * @property {string} url
 * @property {import('node:child_process').ChildProcess} process
 * @property {Promise<{ code: number | null, signal: NodeJS.Signals | null }>} exited
 * @property {string[]} errors the latest lines that were logged as errors or written to stderr
 */

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** The service could not start; a supervisor would start it again. */
export class StartError extends Error {}

/**
 * The environment of the service, without its variables in ours.
 * @param {HostVariant} host
 * @param {Record<string, string>} env
 */
export function environment(host, env) {
  const { DATABASE_URL: _url, DATA_DIR: _folder, ...rest } = process.env;
  return { ...rest, NODE_ENV: 'production', HOST_VARIANT: host, PORT: '0', ...env };
}

/**
 * Kills the child when this process exits, whatever happens.
 * @template {import('node:child_process').ChildProcess} T
 * @param {T} child
 */
export function kept(child) {
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/**
 * Resolves when the service listens; rejects with a StartError when it exits before that.
 * @param {HostVariant} host
 * @param {Record<string, string>} env
 * @param {(child: import('node:child_process').ChildProcess) => void} [onSpawn] gets the process before it listens
 * @returns {Promise<Server>}
 */
export async function startServer(host, env, onSpawn) {
  const child = kept(
    spawn(process.execPath, [MAIN], {
      env: environment(host, { LOG_LEVEL: 'info', ...env }),
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  onSpawn?.(child);
  /** @type {string[]} */
  const errors = [];
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes('"msg":"listening"')) resolve(JSON.parse(line).url);
      if (levelOf(line) >= ERROR) note(line);
    });
    createInterface({ input: child.stderr }).on('line', note);
    child.once('close', (code) => {
      reject(new StartError(`The service exited with code ${code} before it listened:\n${errors.join('\n')}`));
    });
  });
  return { url, process: child, exited, errors };

  /** @param {string} line */
  function note(line) {
    errors.push(line);
    if (errors.length > MOST_ERRORS) errors.shift();
  }
}

/** @param {string} line of the log, which begins with its level */
function levelOf(line) {
  return Number(/^\{"level":(\d+)/.exec(line)?.[1] ?? 0);
}

/**
 * Sends SIGTERM, and returns how long the exit took and its code.
 * @param {Server} server
 */
export async function stopServer(server) {
  const start = performance.now();
  server.process.kill('SIGTERM');
  const { code, signal } = await server.exited;
  return { code, signal, ms: performance.now() - start };
}
