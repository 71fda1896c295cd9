// Packs packages of this repository and installs them in the project of a folder, which is made if it is missing. Until the packages are
// published, this takes the place of `npm install`:
//   npm run install-in ../shop @ambit/express @ambit/container @ambit/transaction express
//   npm run install-in ../my-shop         what its package.json lists
import { existsSync, mkdirSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { manifestOf, publicPackages } from './entry-points.mjs';
import { npm, pack } from './packed.mjs';

/** Beside the project's manifest, whose lines `file:.ambit/...` need the tarballs as long as the project is used. */
const TARBALLS = '.ambit';

const root = resolve(import.meta.dirname, '..');
const packages = new Map(
  publicPackages(root).map((directory) => {
    const manifest = manifestOf(directory);
    return [manifest.name, { directory, manifest }];
  }),
);

const [folder, ...given] = process.argv.slice(2);
const names = given.length > 0 || !folder ? given : listedIn(folder);
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
const folders = ours.flatMap((name) => packages.get(name)?.directory ?? []);
const packed = pack(root, folders, join(project, TARBALLS));
const tarballs = packed.map(({ filename }) => `./${posix.join(TARBALLS, filename)}`);
npm(project, 'install', '--no-audit', '--no-fund', ...tarballs, ...names.filter((name) => !packages.has(name)));
console.log(`${project} has ${ours.join(', ')}`);

/** The packages of this repository that the project of a folder depends on. @param {string} at */
function listedIn(at) {
  if (!existsSync(join(at, 'package.json'))) return [];
  return Object.keys(manifestOf(at).dependencies ?? {}).filter((name) => packages.has(name));
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
