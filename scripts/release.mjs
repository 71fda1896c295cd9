// Makes the commit and the tag of a release; the workflow `release` publishes what is tagged.
//   npm run release -- 0.2.0             changes the versions and the changelog, commits, tags
//   npm run release -- --dry-run         does it in a copy, with the next minor version, and packs what would be published
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cloneInto } from './fresh-clone.mjs';
import { describePublished } from './published.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean', default: false } },
});

/** @type {(command: string, args: readonly string[], cwd?: string) => string} */
const run = (command, args, cwd = '.') =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** @typedef {{ name: string, version: string, private?: boolean, publishConfig?: { access?: string }, [group: string]: unknown }} Manifest */

/** @param {string} root @returns {{ file: string, manifest: Manifest }[]} the packages that are published */
const packagesIn = (root) =>
  readdirSync(join(root, 'packages'))
    .map((name) => join(root, 'packages', name, 'package.json'))
    .map((file) => ({ file, manifest: JSON.parse(readFileSync(file, 'utf8')) }))
    .filter(({ manifest }) => manifest.private !== true);

/** The service is not published, but its OpenAPI document has the version of what it is built on. */
const OF_THE_SERVICE = ['service/package.json', 'docs/openapi.json'];

/** All packages have one version, and need that of each other. @param {string} root @param {string} version */
function setVersion(root, version) {
  for (const { file, manifest } of packagesIn(root)) {
    for (const group of ['dependencies', 'peerDependencies']) {
      const needs = /** @type {Record<string, string> | undefined} */ (manifest[group]) ?? {};
      for (const name of Object.keys(needs)) if (name.startsWith('@ambit/')) needs[name] = `^${version}`;
    }
    writeFileSync(file, `${JSON.stringify({ ...manifest, version }, undefined, 2)}\n`);
  }
  for (const path of OF_THE_SERVICE) {
    const file = join(root, path);
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"version": "[^"]+"/, `"version": "${version}"`));
  }
}

/** What is unreleased becomes the section of the version. @param {string} root @param {string} version */
function setChangelog(root, version) {
  const file = join(root, 'CHANGELOG.md');
  const text = readFileSync(file, 'utf8');
  const [, unreleased = ''] = /^## \[Unreleased\]\n([^]*?)(?=^## |$(?![^]))/m.exec(text) ?? [];
  if (!unreleased.includes('\n- '))
    throw new Error('CHANGELOG.md has nothing under "Unreleased": there is nothing to release');
  const today = new Date().toISOString().slice(0, 10);
  writeFileSync(file, text.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [${version}] - ${today}\n`));
}

/** @param {string} current */
function nextMinor(current) {
  const [major = 0, minor = 0] = current.split('.').map(Number);
  return `${major}.${minor + 1}.0`;
}

/** @param {string} version @param {string} current */
function checkVersion(version, current) {
  const numbers = /^(\d+)\.(\d+)\.(\d+)$/.exec(version)?.slice(1).map(Number);
  const before = current.split('.').map(Number);
  const first = numbers?.findIndex((number, i) => number !== before[i]) ?? -1;
  if (!numbers || first < 0 || Number(numbers[first]) < Number(before[first]))
    throw new Error(`The version must be three numbers and above ${current}, not ${version}`);
}

/** The page of a package is not in the repository, so its links must be absolute, and lead to files. @param {string} readme */
function checkPage(readme) {
  const links = Array.from(readFileSync(readme, 'utf8').matchAll(/\]\(([^)\s]+)\)/g), ([, to = '']) => to);
  for (const to of links) {
    const [, path] = /^https:\/\/example\.org\/ambit\/blob\/v[\d.]+\/([^#?]+)/.exec(to) ?? [];
    if (path ? !existsSync(path) : !/^(https?:|#)/.test(to)) throw new Error(`${readme} links to ${to}`);
  }
}

const versions = new Set(packagesIn('.').map(({ manifest }) => manifest.version));
const [current = ''] = versions;
if (versions.size !== 1) throw new Error(`The packages have several versions: ${[...versions].join(', ')}`);
const [version = options['dry-run'] ? nextMinor(current) : ''] = positionals;
checkVersion(version, current);

if (options['dry-run']) {
  const clone = mkdtempSync(join(tmpdir(), 'ambit-release-'));
  try {
    cloneInto(clone);
    setVersion(clone, version);
    setChangelog(clone, version);
    describePublished(clone, 'https://example.org/ambit');
    for (const { manifest } of packagesIn(clone)) {
      if (manifest.publishConfig?.access !== 'public') throw new Error(`${manifest.name} would not be public`);
      const args = ['publish', '--dry-run', '--json', '--loglevel=error', '--workspace', manifest.name];
      // By workspace or not, npm nests the result.
      const result = JSON.parse(run('npm', args, clone));
      const { id, files } = result[manifest.name] ?? result;
      if (id !== `${manifest.name}@${version}`) throw new Error(`${manifest.name} would be published as ${id}`);
      checkPage(join(clone, 'packages', manifest.name.replace('@ambit/', ''), 'README.md'));
      console.log(`${id}: ${files.length} files`);
    }
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
} else {
  if (run('git', ['status', '--porcelain']) !== '') throw new Error('There are changes that are not committed');
  setVersion('.', version);
  setChangelog('.', version);
  run('npm', ['install', '--package-lock-only', '--ignore-scripts']);
  run('git', ['commit', '--all', '--message', `Release ${version}`]);
  run('git', ['tag', `v${version}`]);
  console.log(`Tagged v${version}. Push it to publish: git push --follow-tags`);
}
