// Follows docs/tutorial.md block by block, in the order of a reader, with this repository as the clone, on the oldest Node that README.md names:
//   node tools/on-node.mjs 20.19.0 tools/tutorial.mjs
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, until } from '../lab/kit/program.mjs';
import { fencesIn } from './documents.mjs';

const PAGE = 'docs/tutorial.md';
const scratch = mkdtempSync(join(tmpdir(), 'ambit-tutorial-'));
const project = join(scratch, 'tutorial');
/** The time of an order is another one each time. */
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;
/** A command that runs the server, which does not exit. */
const SERVER = /\bnode (?:(--env-file=\S+) )?dist\/server\.js\n$/;
const port = await freePort();
/** @type {import('node:child_process').ChildProcess | undefined} */
let server;
/** Whether `server.ts` listens already; the first version of the page only prints something. */
let listens = false;
/** Where the next command runs: in the clone, until the page changes to the project. */
let folder = '.';
/** What the command before printed. */
let output = '';

try {
  for (const fence of fencesIn(readFileSync(PAGE, 'utf8'))) await follow(fence);
  console.log(`${PAGE}: all steps work`);
} finally {
  server?.kill('SIGKILL');
  rmSync(scratch, { recursive: true, force: true });
}

/** @param {{ line: number, language: string, words: string[], body: string }} fence */
async function follow({ line, language, words, body }) {
  const at = `${PAGE}:${line}`;
  const [mark, file] = words;
  if (mark === 'tutorial' && file) {
    // A new version of a file is for the next start.
    await stop();
    writeFileSync(join(project, file), body);
    if (file === 'server.ts') listens = body.includes('.listen(');
  } else if (language === 'sh' && listens && SERVER.test(body)) await start(at, SERVER.exec(body)?.[1]);
  else if (language === 'sh') output = run(body.replaceAll('localhost:3000', `localhost:${port}`), at);
  else if (language === 'text') expect(at, output, body);
  else if (language === 'json') expect(at, comparable(output), comparable(body));
}

/** @param {string} json */
function comparable(json) {
  return JSON.stringify(JSON.parse(json)).replaceAll(TIME, 'a time');
}

/** @param {string} at @param {string} actual @param {string} shown */
function expect(at, actual, shown) {
  if (actual !== shown) throw new Error(`${at} shows\n${shown}\nbut the command printed\n${actual}`);
}

/** @param {string} script @param {string} at */
function run(script, at) {
  const env = { ...process.env, npm_config_loglevel: 'error' };
  try {
    const printed = execFileSync('bash', ['-ec', script.replaceAll('../tutorial', project)], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
    });
    if (script.includes('cd ../tutorial')) folder = project;
    return printed;
  } catch (error) {
    const { stdout, stderr } = /** @type {{ stdout: string, stderr: string }} */ (error);
    throw new Error(`${at} fails:\n${script}${stdout}${stderr}`, { cause: error });
  }
}

/** @param {string} at @param {string} [option] of node */
async function start(at, option) {
  await stop();
  run('npx tsc', at);
  const env = { ...process.env, PORT: String(port) };
  server = spawn(process.execPath, [...(option ? [option] : []), 'dist/server.js'], {
    cwd: project,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await until(`${at}: the server`, () => {
    if (server?.exitCode !== null) throw new Error(`${at}: the server has exited`);
    return fetch(`http://localhost:${port}/`).then(
      () => true,
      () => false,
    );
  });
}

async function stop() {
  if (!server) return;
  const exited = once(server, 'exit');
  server.kill('SIGTERM');
  const [code] = await exited;
  server = undefined;
  if (code !== 0) throw new Error(`The server of the step before exits with ${code}`);
}
