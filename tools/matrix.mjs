// Runs the packed packages wherever they may run: one probe of the container in each runtime, bundler and compiler of a file, and projects of users.
//   node tools/matrix.mjs                       all rows
//   node tools/matrix.mjs 'Node 24' workerd     these rows
// The tools are installed once, into .cache; a change of the lock file, or of the peers that a manifest names, installs them again.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { nodeBinary, programBinary } from './on-node.mjs';
import { PROJECTS, supply } from './matrix/projects.mjs';
import { FILES, ROWS as PROBES } from './matrix/rows.mjs';

const AT_ONCE = 3;
const root = resolve(import.meta.dirname, '..');
const source = join(root, 'tools/matrix');
const home = join(root, '.cache/matrix');
const app = join(home, 'app');

/** @param {string} command @param {string[]} args @param {string} cwd */
function run(command, args, cwd) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout;
}

/** Installs the tools of the probes, unless they are there, and the packages. */
function prepareProbes() {
  const lock = readFileSync(join(source, 'package-lock.json'), 'utf8');
  const installed = join(home, 'package-lock.json');
  if (!existsSync(join(home, 'node_modules')) || readFileSync(installed, 'utf8') !== lock) {
    mkdirSync(home, { recursive: true });
    for (const file of ['package.json', 'package-lock.json']) cpSync(join(source, file), join(home, file));
    // Not `npm ci`, which would insist on the binaries of other platforms being in the lock file.
    run('npm', ['install', '--no-save', '--legacy-peer-deps', '--no-audit', '--no-fund', '--loglevel=error'], home);
  }
  rmSync(app, { recursive: true, force: true });
  cpSync(join(source, 'app'), app, { recursive: true });
  for (const [file, text] of Object.entries({
    ...FILES,
    'legacy/legacy.ts': readFileSync(join(app, 'legacy.ts'), 'utf8'),
  })) {
    mkdirSync(dirname(join(app, file)), { recursive: true });
    writeFileSync(join(app, file), text);
  }
  rmSync(join(app, 'legacy.ts'));
  const modules = join(home, 'node_modules');
  supply(home);
  if (!existsSync(join(modules, 'playwright-core')))
    symlinkSync(join(root, 'node_modules/playwright-core'), join(modules, 'playwright-core'));
}

/** The program of a row: another version of Node, or another runtime. @param {string[]} command */
function started([program = '', ...args]) {
  if (program !== 'node') return { file: programBinary(program), args };
  const [version = '', ...rest] = args;
  return { file: process.versions.node.startsWith(`${version}.`) ? process.execPath : nodeBinary(version), args: rest };
}

/** @param {string[]} command @param {string} cwd @param {import('./matrix/projects.mjs').Row} row @returns {Promise<string | undefined>} what went wrong */
function failure(command, cwd, { refusal, isOurs }) {
  const { file, args } = started(command);
  const env = {
    ...process.env,
    NO_COLOR: '1',
    CI: 'true',
    TS_NODE_PROJECT: 'legacy/tsconfig.json',
    TS_NODE_TRANSPILE_ONLY: 'true',
    SWC_NODE_PROJECT: 'legacy/tsconfig.json',
    DENO_NO_UPDATE_CHECK: '1',
  };
  return new Promise((settle) => {
    const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 300_000 });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
    child.on('error', (error) => settle(String(error)));
    child.on('close', (code) => {
      const isCompiler = /bin.tsc$/.test(args[0] ?? '');
      const succeeds = code === 0 && (isCompiler || said.trimEnd().endsWith('ok') || /\b1 passed/.test(said));
      const isOthers = isCompiler && code !== null && isOurs && !said.split('\n').some(isOurs);
      const works = refusal ? code !== 0 && said.includes(refusal) : succeeds || isOthers;
      settle(works ? undefined : `${command.join(' ')}\n${said.trim()}`);
    });
  });
}

/** @type {import('./matrix/projects.mjs').Row[]} */
const ROWS = [...PROBES, ...PROJECTS];
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !ROWS.some((row) => row.name === name));
if (unknown.length > 0) {
  console.error(`No row named ${unknown.join(', ')}. The rows: ${ROWS.map(({ name }) => name).join('; ')}.`);
  process.exit(2);
}
const rows = ROWS.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
if (rows.some(({ prepare }) => !prepare)) prepareProbes();
const open = [...rows];
/** @type {string[]} */
const failed = [];
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let row = open.shift(); row; row = open.shift()) {
      const start = performance.now();
      const folder = row.prepare?.() ?? app;
      let wrong;
      for (const command of row.commands) wrong ??= await failure(command, folder, row);
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      console.log(
        `${wrong ? 'FAIL' : 'ok  '}  ${row.name.padEnd(38)} ${String(row.commands.length).padStart(2)} runs  ${seconds.padStart(5)} s`,
      );
      if (wrong) failed.push(`${row.name}: ${wrong}`);
    }
  }),
);
for (const text of failed) console.error(`\n${text}`);
console.log(`${rows.length - failed.length} of ${rows.length} rows work`);
process.exitCode = failed.length > 0 ? 1 : 0;
