import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */
/** @typedef {{ child: ChildProcess, output: () => string, exited: Promise<number | null> }} Program */

/** Debian asks it before it starts a service. */
const START_POLICY = '/usr/sbin/policy-rc.d';
/** Long enough for busy machines. */
const TIMEOUT_MS = 30_000;

/** @type {Set<ChildProcess>} */
const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/**
 * Resolves when the program has printed that it is ready.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RegExp} ready what it prints when it is ready
 * @param {NodeJS.ProcessEnv} [env] in addition to ours
 * @returns {Promise<Program>}
 */
export async function start(command, args, ready, env = {}) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let output = '';
  /** @type {Promise<void>} */
  const said = new Promise((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
        output += text;
        if (ready.test(output)) resolve();
      });
    }
  });
  const exited = once(child, 'exit').then(([code]) => {
    running.delete(child);
    return /** @type {number | null} */ (code);
  });
  await Promise.race([
    said,
    exited.then((code) => Promise.reject(new Error(`${command} exited with ${code} before it was ready:\n${output}`))),
  ]);
  return { child, output: () => output, exited };
}

/**
 * @param {Program} program
 * @param {NodeJS.Signals} [signal]
 */
export function stop({ child, exited }, signal = 'SIGTERM') {
  child.kill(signal);
  return exited;
}

/**
 * Whether the program is installed. As root on Debian, it installs the package of the same name first, or these packages.
 * @param {string} name
 * @param {readonly string[]} [packages]
 */
export function ensureInstalled(name, packages = [name]) {
  if (isInstalled(name)) return true;
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) return false;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('apt-get', ['update', '-qq'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  withoutServices(() => execFileSync('apt-get', ['install', '-qqy', ...packages], { env, stdio: 'ignore' }));
  return isInstalled(name);
}

/**
 * Debian starts the servers that it installs, unless this file refuses: each program here starts its own, with its own settings.
 * @param {() => void} install
 */
function withoutServices(install) {
  const isOurs = !existsSync(START_POLICY);
  if (isOurs) writeFileSync(START_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    install();
  } finally {
    if (isOurs) rmSync(START_POLICY);
  }
}

/** @param {string} name */
function isInstalled(name) {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/**
 * The text of a configuration as shipped, with some values replaced, so that the shipped file is tested.
 * @param {string} text
 * @param {Record<string, string>} replacements
 */
export function withReplaced(text, replacements) {
  let result = text;
  for (const [from, to] of Object.entries(replacements)) {
    if (!result.includes(from)) throw new Error(`The configuration no longer contains ${from}`);
    result = result.replace(from, to);
  }
  return result;
}

/** @param {URL} url */
export async function isListening({ hostname, port }) {
  const socket = connect(Number(port || 5432), hostname);
  return once(socket, 'connect').then(
    () => Boolean(socket.end()),
    () => false,
  );
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * @param {string} what
 * @param {() => Promise<boolean>} holds
 * @param {number} [withinMs]
 */
export async function until(what, holds, withinMs = TIMEOUT_MS) {
  const deadline = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await pause(50);
  }
}
