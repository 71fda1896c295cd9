// Runs the first two commands of README.md as a new user does: in a fresh clone, with an empty cache of npm and no configuration. While the first
// one runs, the service must respond to the call of the page as the page shows; the second one runs the tests.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../lab/kit/program.mjs';
import { fencesIn } from './documents.mjs';
import { copyInto } from './fresh-clone.mjs';

/** What a shell has anyway; DATABASE_URL and others would configure the service. */
const OF_A_SHELL = /^(path|home|lang|tmpdir|https?_proxy|no_proxy|node_extra_ca_certs|npm_config_.*)$/i;
/** Installing with an empty cache takes minutes on a slow line. */
const START_MS = 15 * 60_000;
const ADDRESS = 'localhost:3000';

const [start = '', test = '', ask = '', shown = ''] = firstBlocks();
const scratch = mkdtempSync(join(tmpdir(), 'ambit-first-commands-'));
const clone = join(scratch, 'ambit');
/** Without the programs of this folder, which `npm run check` puts on the PATH. */
const PATH = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== resolve('node_modules/.bin'));
const env = { ...process.env, PATH: PATH.join(delimiter), npm_config_cache: join(scratch, 'cache') };

try {
  copyInto(clone);
  // Some tests ask git which files there are.
  execFileSync('git', ['init', '--quiet'], { cwd: clone });
  execFileSync('git', ['add', '--all'], { cwd: clone });
  await startAndAsk();
  await run(test);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** The two commands, the call, and its response, each alone in its block. */
function firstBlocks() {
  const fences = fencesIn(readFileSync('README.md', 'utf8'))
    .filter(({ language }) => language !== 'ts')
    .slice(0, 4);
  const languages = fences.map(({ language }) => language).join();
  if (languages !== 'sh,sh,sh,json')
    throw new Error(`README.md begins with ${languages}, not with two commands, a call and its response`);
  return fences.map(({ body }) => body.trim());
}

async function startAndAsk() {
  // The port of the page, unless something on this machine has it.
  const port = (await isTaken(3000)) ? await freePort() : 3000;
  const given = Object.fromEntries(Object.entries(env).filter(([name]) => OF_A_SHELL.test(name)));
  const service = shell(start, port === 3000 ? given : { ...given, PORT: String(port) });
  const exited = once(service, 'exit').then(([code]) => {
    throw new Error(`"${start}" exited with ${code} before the service responded`);
  });
  try {
    await Promise.race([exited, untilListening(port)]);
    const response = execFileSync(
      'bash',
      ['-c', `${ask} --silent --show-error`.replace(ADDRESS, `localhost:${port}`)],
      {
        encoding: 'utf8',
      },
    );
    if (response !== JSON.stringify(JSON.parse(shown)))
      throw new Error(
        `README.md shows that "${ask}" responds with\n${shown}\nbut the service responded with\n${response}`,
      );
    if (!existsSync(join(clone, 'data'))) throw new Error('README.md says that the service stores in the folder data');
    console.log(`README.md: "${start}" starts the service, and "${ask}" gets what the page shows`);
  } finally {
    await stop(service, exited);
  }
}

/** @param {number} port */
async function untilListening(port) {
  for (const deadline = Date.now() + START_MS; Date.now() < deadline; await pause(200)) if (await isTaken(port)) return;
  throw new Error(`"${start}" did not listen on port ${port} within ${START_MS / 60_000} minutes`);
}

/** @param {number} port @returns {Promise<boolean>} */
async function isTaken(port) {
  const socket = connect(port, 'localhost');
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}

/** Ctrl+C reaches every process of the terminal. @param {import('node:child_process').ChildProcess} service @param {Promise<never>} exited */
async function stop({ pid, exitCode, signalCode }, exited) {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  process.kill(-pid, 'SIGINT');
  await exited.catch(() => {});
}

/** @param {string} command */
async function run(command) {
  const [code] = await once(shell(command, env), 'exit');
  if (code !== 0) throw new Error(`"${command}" exited with ${code}`);
  console.log(`README.md: "${command}" works`);
}

/** @param {string} command @param {NodeJS.ProcessEnv} given */
function shell(command, given) {
  return spawn('bash', ['-c', command], {
    cwd: clone,
    env: given,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
}
