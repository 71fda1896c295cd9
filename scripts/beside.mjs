// Installs the packed packages beside the release lines of the libraries that they work with, and runs a transaction on each line.
//   node scripts/beside.mjs                with npm, without what has to be compiled
//   node scripts/beside.mjs --all          also with pnpm and Yarn, and compiles
//   node scripts/beside.mjs --all --write  writes the table of docs/guides/versions.md, which is otherwise compared
//   node scripts/beside.mjs kysely pg      the projects with these only
// Fails where a package manager refuses or warns of a peer of ours, and where the table says something else than what happened.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { LIBRARIES, PROJECTS } from './beside/lines.mjs';
import { nodeBinary } from './binaries.mjs';
import { MANAGERS } from './package-managers.mjs';
import { packInto } from './packed.mjs';

/** @typedef {import('./beside/lines.mjs').Line} Line */

const PAGE = resolve(import.meta.dirname, '../docs/guides/versions.md');
const PROGRAMS = resolve(import.meta.dirname, 'beside/programs');
/** What a warning about a peer contains, whatever the package manager. */
const PEER_WARNING = /ERESOLVE|unmet peer|missing peer|incorrectly met|YN0002|YN0060/;

const { values: flags, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean' }, write: { type: 'boolean' } },
});
const managers = flags.all ? ['npm', 'pnpm', 'yarn'] : ['npm'];
// What a library would compile or download while it is installed says nothing of peers; `compile()` does it where a program needs it.
Object.assign(process.env, { npm_config_ignore_scripts: 'true', YARN_ENABLE_SCRIPTS: 'false' });
const scratch = mkdtempSync(join(tmpdir(), 'ambit-beside-'));

/** @param {Line} line @returns {string[]} the packages and versions that it needs */
function dependenciesOf({ library, version, beside = [] }) {
  const others = (LIBRARIES[library]?.beside ?? []).map((other) => other.replace('$', version));
  return [`${library}@${version}`, ...others, ...beside];
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

/**
 * Installs the lines into a project.
 * @param {string} manager
 * @param {readonly Line[]} lines
 * @param {import('./packed.mjs').Tarballs} tarballs
 * @returns {{ app: string, problem: string | undefined }}
 */
function install(manager, lines, tarballs) {
  const app = mkdtempSync(join(scratch, `${manager}-`));
  writeFileSync(join(app, 'package.json'), manifestOf(lines));
  const names = new Set(lines.flatMap(({ library }) => LIBRARIES[library]?.packages ?? []));
  const needed = Object.fromEntries(Object.entries(tarballs).filter(([name]) => names.has(name)));
  try {
    const output = MANAGERS[manager]?.install(app, needed) ?? '';
    return { app, problem: warningOf(output) };
  } catch (error) {
    return { app, problem: String(error) };
  }
}

/** pnpm and Yarn also list the peers of others; npm names ours in the lines behind a warning. @param {string} output */
function warningOf(output) {
  const lines = output.split('\n');
  const isNpm = lines.some((line) => line.startsWith('npm warn ERESOLVE'));
  const ours = lines.filter(
    (line, index) =>
      PEER_WARNING.test(line) && /@ambit\//.test(lines.slice(Math.max(0, index - 8), index + 1).join('\n')),
  );
  return isNpm || ours.length > 0 ? output : undefined;
}

/**
 * Runs the program of a line.
 * @param {string} app
 * @param {Line} line
 * @param {string} node
 * @returns {string} the cell of the table
 */
function run(app, line, node) {
  const { library, says, notRun } = line;
  if (notRun) return `not run ${notRun}`.replace('not run its', 'not run: its');
  if (line.compiled && !compile(app, library, node)) return 'not run: it could not be compiled';
  const program = `${LIBRARIES[library]?.program ?? library}.mjs`;
  const { status, stdout, stderr } = spawnSync(node, [program], { cwd: app, encoding: 'utf8', timeout: 60_000 });
  if (status === 0) return 'yes';
  const said = stdout + stderr;
  if (says && said.includes(says)) return `no: \`${says}\``;
  console.error(said);
  return 'no';
}

/** Compiles what npm would have downloaded, with the headers that came with Node. @param {string} app @param {string} library @param {string} node */
function compile(app, library, node) {
  const env = {
    ...process.env,
    npm_config_nodedir: resolve(dirname(node), '..'),
    npm_config_build_from_source: 'true',
    npm_config_ignore_scripts: 'false',
  };
  const { status, stdout, stderr } = spawnSync('npm', ['rebuild', library, '--foreground-scripts'], {
    cwd: app,
    env,
    encoding: 'utf8',
  });
  if (status !== 0) console.error(stdout + stderr);
  return status === 0;
}

/** @param {Line} line */
const isLeftOut = ({ compiled }) => compiled && !flags.all;

/** @param {readonly string[]} cells */
const row = (cells) => `| ${cells.join(' | ')} |`;

try {
  const tarballs = packInto(scratch);
  /** @type {{ line: Line, cells: string[] }[]} */
  const tried = [];
  for (const { node: major, lines } of PROJECTS) {
    if (wanted.length > 0 && !lines.some(({ library }) => wanted.includes(library))) continue;
    const node = major === undefined ? process.execPath : nodeBinary(major);
    /** @type {string[]} */
    const refusing = [];
    let app = '';
    for (const manager of managers) {
      const installed = install(manager, lines, tarballs);
      if (manager === 'npm') app = installed.app;
      if (!installed.problem) continue;
      console.error(`${manager}: ${installed.problem}`);
      refusing.push(manager);
    }
    cpSync(PROGRAMS, app, { recursive: true });
    for (const line of lines) {
      const installs = refusing.length > 0 ? `not with ${refusing.join(', ')}` : 'yes';
      const runs = isLeftOut(line) ? undefined : run(app, line, node);
      console.log(
        `${line.library.padEnd(22)} ${versionIn(app, line).padEnd(24)} installs: ${installs}, runs: ${runs ?? 'with --all'}`,
      );
      tried.push({
        line,
        cells: [`\`${line.library}\``, line.version, installs, ...(runs === undefined ? [] : [runs])],
      });
    }
  }
  compare(tried);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** @param {string} app @param {Line} line */
function versionIn(app, { library }) {
  try {
    return JSON.parse(readFileSync(join(app, 'node_modules', library, 'package.json'), 'utf8')).version;
  } catch {
    return 'not installed';
  }
}

/** @param {{ line: Line, cells: string[] }[]} tried */
function compare(tried) {
  const page = readFileSync(PAGE, 'utf8');
  const order = Object.keys(LIBRARIES);
  const sorted = tried.toSorted((one, other) => order.indexOf(one.line.library) - order.indexOf(other.line.library));
  if (flags.write) {
    const table = [
      '| library | version | installs | runs |',
      '| --- | --- | --- | --- |',
      ...sorted.map(({ cells }) => row(cells)),
    ];
    writeFileSync(PAGE, page.replace(/\| library +\| version[^]*?\n\n/, `${table.join('\n')}\n\n`));
    return;
  }
  const rows = page.split('\n').map((text) => text.replaceAll(/ +/g, ' '));
  const missing = sorted.filter(({ cells }) => !rows.some((text) => text.startsWith(row(cells))));
  for (const { cells } of missing) console.error(`docs/guides/versions.md does not have this row: ${row(cells)}`);
  process.exitCode = missing.length > 0 ? 1 : 0;
}
