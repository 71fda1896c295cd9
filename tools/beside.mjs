// Installs the packed packages beside the release lines of the libraries that they work with, and runs a transaction on each line.
//   node tools/beside.mjs                with npm, without what has to be compiled
//   node tools/beside.mjs --all          also with pnpm and Yarn, and compiles
//   node tools/beside.mjs --all --write  writes the table of docs/guides/versions.md, which is otherwise compared
//   node tools/beside.mjs kysely pg      the projects with these only
// Fails where the table says something else than what happened: also where a package manager refuses, or warns of one of our packages.
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { LIBRARIES, PROJECTS } from './beside/lines.mjs';
import { nodeBinary } from './binaries.mjs';
import { MANAGERS, packInto } from './packed.mjs';

/** @typedef {import('./beside/lines.mjs').Line} Line */
/** @typedef {Record<string, string>} Row the cells by the names of the columns; without those that were not tried */

const PAGE = resolve(import.meta.dirname, '../docs/guides/versions.md');
const PROGRAMS = resolve(import.meta.dirname, 'beside/programs.mjs');
const COLUMNS = ['library', 'version', 'npm', 'pnpm', 'Yarn', 'runs'];
/** What a warning contains, whatever the package manager; Yarn writes its codes in place of a word. */
const WARNING = /\bwarn|unmet peer|missing peer|YN0002|YN0060/i;
const AT_ONCE = 2;

const { values: flags, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean' }, write: { type: 'boolean' } },
});
if (flags.write && (!flags.all || wanted.length > 0)) throw new Error('--write writes the whole table, of one --all');
const managers = flags.all ? ['npm', 'pnpm', 'yarn'] : ['npm'];
const scratch = mkdtempSync(join(tmpdir(), 'ambit-beside-'));

try {
  const tarballs = packInto(scratch);
  const left = PROJECTS.filter(
    ({ lines }) => wanted.length === 0 || lines.some(({ library }) => wanted.includes(library)),
  );
  /** @type {Row[]} */
  const rows = [];
  const tryOutNext = async () => {
    for (let project = left.shift(); project; project = left.shift()) rows.push(...(await tryOut(project, tarballs)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, tryOutNext));
  if (flags.write) write(rows);
  else compare(rows);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/**
 * @param {import('./beside/lines.mjs').Project} project
 * @param {import('./packed.mjs').Tarballs} tarballs
 * @returns {Promise<Row[]>}
 */
async function tryOut({ node: major, lines }, tarballs) {
  const names = new Set(lines.flatMap(({ library }) => LIBRARIES[library]?.packages ?? []));
  const needed = Object.fromEntries(Object.entries(tarballs).filter(([name]) => names.has(name)));
  /** @type {Row} */
  const installs = {};
  let app = '';
  for (const manager of managers) {
    const folder = mkdtempSync(join(scratch, `${manager}-`));
    if (manager === 'npm') app = folder;
    writeFileSync(join(folder, 'package.json'), manifestOf(lines));
    installs[manager === 'yarn' ? 'Yarn' : manager] = await install(manager, folder, needed);
  }
  cpSync(PROGRAMS, join(app, 'programs.mjs'));
  const node = major === undefined ? process.execPath : nodeBinary(major);
  /** @type {Row[]} */
  const rows = [];
  for (const line of lines) {
    const runs = line.compiled && !flags.all ? {} : { runs: await run(app, line, node) };
    const row = { library: `\`${line.library}\``, version: line.version, ...installs, ...runs };
    console.log(`${versionIn(app, line).padEnd(18)} ${textOf(row)}`);
    rows.push(row);
  }
  return rows;
}

/** A line names the version of what another only needs to run. @param {readonly Line[]} lines */
function manifestOf(lines) {
  const own = new Set(lines.map(({ library }) => library));
  /** @type {Record<string, string>} */
  const dependencies = {};
  for (const line of lines) {
    for (const dependency of dependenciesOf(line)) {
      const at = dependency.lastIndexOf('@');
      const name = dependency.slice(0, at);
      if (name === line.library || !own.has(name)) dependencies[name] = dependency.slice(at + 1);
    }
  }
  return JSON.stringify({ name: 'beside', private: true, type: 'module', dependencies });
}

/** @param {Line} line @returns {string[]} the packages and versions that it needs */
function dependenciesOf({ library, version, beside = [] }) {
  const others = (LIBRARIES[library]?.beside ?? []).map((other) => other.replace('$', version));
  return [`${library}@${version}`, ...others, ...beside];
}

/**
 * @param {string} manager
 * @param {string} folder
 * @param {import('./packed.mjs').Tarballs} tarballs
 * @returns {Promise<string>} the cell of the table
 */
async function install(manager, folder, tarballs) {
  try {
    const output = (await MANAGERS[manager]?.install(folder, tarballs)) ?? '';
    if (!warnsOfOurs(output)) return 'yes';
    console.error(output);
    return 'with a warning';
  } catch (error) {
    console.error(error);
    return 'no';
  }
}

/** Each also warns of packages of others. Yarn names both in one line, pnpm the package in a line above, npm in one below. @param {string} output */
function warnsOfOurs(output) {
  const lines = output.split('\n');
  return lines.some((line, index) => {
    if (line.startsWith('npm warn ERESOLVE')) return true;
    const about = line.includes('YN0') ? [line] : lines.slice(Math.max(0, index - 8), index + 1);
    return WARNING.test(line) && about.some((text) => text.includes('@ambit/'));
  });
}

/**
 * Runs the program of a line.
 * @param {string} app
 * @param {Line} line
 * @param {string} node
 * @returns {Promise<string>} the cell of the table
 */
async function run(app, line, node) {
  const { library, says, notRun } = line;
  if (notRun) return `not run: ${notRun}`;
  if (line.compiled && !(await compile(app, library, node))) return 'not run: it could not be compiled';
  const { failed, said } = await start(node, ['programs.mjs', LIBRARIES[library]?.program ?? library], app);
  if (!failed) return 'yes';
  if (says && said.includes(says)) return `no: \`${says}\``;
  console.error(said);
  return 'no';
}

/** Compiles what npm would have downloaded, with the headers that came with Node. @param {string} app @param {string} library @param {string} node */
async function compile(app, library, node) {
  const env = {
    ...process.env,
    npm_config_nodedir: resolve(dirname(node), '..'),
    npm_config_build_from_source: 'true',
  };
  const { failed, said } = await start('npm', ['rebuild', library, '--foreground-scripts'], app, env);
  if (failed) console.error(said);
  return !failed;
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<{ failed: boolean, said: string }>}
 */
function start(command, args, cwd, env = process.env) {
  return new Promise((done) => {
    execFile(command, args, { cwd, env, timeout: 600_000, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      done({ failed: error !== null, said: `${stdout}${stderr}` || (error?.message ?? '') }),
    );
  });
}

/** @param {string} app @param {Line} line */
function versionIn(app, { library }) {
  try {
    return JSON.parse(readFileSync(join(app, 'node_modules', library, 'package.json'), 'utf8')).version;
  } catch {
    return 'not installed';
  }
}

/** @param {Row} row */
function textOf(row) {
  return `| ${COLUMNS.map((column) => (row[column] ?? '').replaceAll('|', '\\|')).join(' | ')} |`;
}

/** By library, and the newest first as in lines.mjs. @param {readonly Row[]} rows */
function write(rows) {
  const lines = PROJECTS.flatMap((project) => project.lines);
  const order = Object.keys(LIBRARIES).flatMap((name) =>
    lines.filter(({ library }) => library === name).map(({ version }) => `\`${name}\` ${version}`),
  );
  /** @param {Row} row */
  const place = ({ library, version }) => order.indexOf(`${library} ${version}`);
  const sorted = rows.toSorted((one, other) => place(one) - place(other));
  const table = [`| ${COLUMNS.join(' | ')} |`, `|${' --- |'.repeat(COLUMNS.length)}`, ...sorted.map(textOf)];
  writeFileSync(
    PAGE,
    readFileSync(PAGE, 'utf8').replace(/^\| library [^]*?\n\n/m, () => `${table.join('\n')}\n\n`),
  );
}

/** What was not tried is not compared. @param {readonly Row[]} rows */
function compare(rows) {
  const table = readFileSync(PAGE, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map(rowOf);
  for (const row of rows) {
    const shown = table.find(({ library, version }) => library === row['library'] && version === row['version']) ?? {};
    for (const [column, cell] of Object.entries(row).filter(([name, value]) => shown[name] !== value)) {
      console.error(
        `docs/guides/versions.md: ${row['library']} ${row['version']}, ${column}: "${shown[column]}", but it was "${cell}"`,
      );
      process.exitCode = 1;
    }
  }
}

/** @param {string} line of the page @returns {Row} */
function rowOf(line) {
  const cells = line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
  return Object.fromEntries(COLUMNS.map((column, index) => [column, cells[index] ?? '']));
}
