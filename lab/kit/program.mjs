/** Programs that are started, signalled and stopped; each exits with this process, whatever happens. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */
/** @typedef {{ child: ChildProcess, output: () => string, exited: Promise<number | null> }} Program */

/** Debian asks it before it starts a service. */
const START_POLICY = '/usr/sbin/policy-rc.d';
/** Long enough for busy machines. */
const TIMEOUT_MS = 120_000;

/** @type {Set<ChildProcess>} */
const running = new Set();
/** @type {Set<string>} */
const folders = new Set();
/** @type {Set<() => void>} */
const cleanUps = new Set();
process.once('exit', () => {
  for (const cleanUp of cleanUps) cleanUp();
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});
let endsOnSignals = false;

/** A program that started nothing handles its signals as it likes. */
function endOnSignals() {
  if (endsOnSignals) return;
  endsOnSignals = true;
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(name, () => process.exit(1));
}

/**
 * Kills the child when this process exits.
 * @template {ChildProcess} T
 * @param {T} child
 */
export function kept(child) {
  endOnSignals();
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Runs it when this process exits, before the folders are removed. @param {() => void} cleanUp */
export function atExit(cleanUp) {
  endOnSignals();
  cleanUps.add(cleanUp);
}

/** A folder that other users may enter, because databases run as users of their own; removed at exit. @param {string} [name] */
export function temporaryFolder(name = 'lab') {
  const folder = mkdtempSync(join(tmpdir(), `ambit-${name}-`));
  chmodSync(folder, 0o755);
  endOnSignals();
  folders.add(folder);
  return folder;
}

/**
 * Resolves when the program has printed that it is ready.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RegExp} ready what it prints when it is ready
 * @param {NodeJS.ProcessEnv} [env] in addition to ours
 * @returns {Promise<Program>}
 */
export async function start(command, args, ready, env = {}) {
  const child = kept(spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] }));
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
  const exited = once(child, 'exit').then(([code]) => /** @type {number | null} */ (code));
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

/** @param {number} pid @param {NodeJS.Signals} name */
function send(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It has exited.
  }
}

/**
 * Sends a signal to these processes and to everything that they started, parents first: a stopped parent starts nothing more.
 * @param {readonly number[]} roots
 * @param {NodeJS.Signals} name
 */
export function signalTree(roots, name) {
  for (const pid of treeOf(roots)) send(pid, name);
}

/** @param {readonly number[]} roots @returns {number[]} with everything that they started */
function treeOf(roots) {
  const found = [...roots];
  const processes = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => ({ pid: Number(entry), parent: parentOf(entry) }));
  for (const one of found) for (const { pid, parent } of processes) if (parent === one) found.push(pid);
  return found;
}

/** @param {string} pid */
function parentOf(pid) {
  try {
    // The name of the program is in parentheses, and may have spaces: "17 (postgres) S 1 ...".
    return Number(readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[1]);
  } catch {
    return 0;
  }
}

/**
 * The process id of the PostgreSQL that runs in this data directory. A server that was killed leaves its file behind, and the id in it
 * may be that of any other process by now.
 * @param {string} data
 */
export function postmasterIn(data) {
  try {
    const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(data) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** The most that a process had in memory; 0 when it has exited. @param {number | undefined} pid */
export function peakMemoryMb(pid) {
  try {
    const [, kb = 0] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kb) / 1024);
  } catch {
    return 0;
  }
}

/** Installs what is missing, as root on Debian, or throws. @param {string} program @param {readonly string[]} [packages] */
export function need(program, packages) {
  if (!ensureInstalled(program, packages)) throw new Error(`${program} is needed, and cannot be installed here`);
}

/**
 * True if the program is installed. As root on Debian, it installs the package of the same name first, or these packages.
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

/** Seconds from now on. */
export function stopwatch() {
  const begin = performance.now();
  return () => ((performance.now() - begin) / 1000).toFixed(1);
}
