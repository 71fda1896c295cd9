// Packs packages of this repository and installs them in the project of a folder, which is made if it is missing. Until the packages are
// published, this takes the place of `npm install`:
//   npm run install-in ../shop @ambit/express @ambit/container @ambit/transaction express libsql
//   npm run install-in ../my-shop         what its package.json lists
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';

/** Beside the project's manifest, whose lines `file:.ambit/...` need the tarballs as long as the project is used. */
const TARBALLS = '.ambit';

/** @typedef {{ name: string, private?: boolean, dependencies?: object, peerDependencies?: object, peerDependenciesMeta?: Record<string, { optional?: boolean }> }} Manifest */

const root = resolve(import.meta.dirname, '..');
const packages = new Map(
  readdirSync(join(root, 'packages')).flatMap((directory) => {
    /** @type {Manifest} */
    const manifest = JSON.parse(readFileSync(join(root, 'packages', directory, 'package.json'), 'utf8'));
    return manifest.private ? [] : [[manifest.name, { directory, manifest }]];
  }),
);

const [folder, ...given] = process.argv.slice(2);
const names = given.length > 0 || !folder ? given : listedIn(join(folder, 'package.json'));
const unknown = names.filter((name) => name.startsWith('@ambit/') && !packages.has(name));
if (!folder || names.length === 0 || unknown.length > 0) {
  for (const name of unknown) console.error(`This repository has no package ${name}.`);
  console.error(
    `npm run install-in <folder> <packages>, which may be missing where package.json lists some. The packages here: ${[...packages.keys()].join(', ')}.`,
  );
  process.exit(2);
}

const project = resolve(folder);
mkdirSync(join(project, TARBALLS), { recursive: true });
if (!existsSync(join(project, 'package.json'))) npm(project, 'init', '--yes', '--silent');
const ours = withDependencies(names.filter((name) => packages.has(name)));
const workspaces = ours.map((name) => `--workspace=packages/${packages.get(name)?.directory}`);
const packed = npm(root, 'pack', '--silent', '--pack-destination', join(project, TARBALLS), ...workspaces);
const tarballs = packed
  .trim()
  .split('\n')
  .map((file) => `./${posix.join(TARBALLS, file)}`);
npm(project, 'install', '--no-audit', '--no-fund', ...tarballs, ...names.filter((name) => !packages.has(name)));
console.log(`${project} has ${ours.join(', ')}`);

/** The packages of this repository that a project depends on. @param {string} file */
function listedIn(file) {
  if (!existsSync(file)) return [];
  /** @type {Manifest} */
  const { dependencies } = JSON.parse(readFileSync(file, 'utf8'));
  return Object.keys(dependencies ?? {}).filter((name) => packages.has(name));
}

/** The packages, and those of this repository that they need: npm finds none of them in its registry. @param {string[]} asked */
function withDependencies(asked) {
  const found = new Set(asked);
  for (const name of found) {
    const { dependencies, peerDependencies, peerDependenciesMeta } = packages.get(name)?.manifest ?? {};
    for (const needed of Object.keys({ ...dependencies, ...peerDependencies }))
      if (packages.has(needed) && !peerDependenciesMeta?.[needed]?.optional) found.add(needed);
  }
  return [...found];
}

/** The npm that runs this script: its path, because Windows starts no `npm.cmd` without a shell. @param {string} cwd @param {string[]} args */
function npm(cwd, ...args) {
  const program = process.env['npm_execpath'];
  if (!program) throw new Error('Start this with npm: npm run install-in');
  return execFileSync(process.execPath, [program, ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
