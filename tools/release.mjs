// What a release publishes: every public package whose version npm does not have yet, in the order of their dependencies.
//   npm run release -- --dry-run         prints it, and changes nothing: neither here, nor on npm
//   npm run release -- --pack <folder>   also writes the tarballs, and `publish.txt` with a line for each; the workflow `release` publishes those
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { manifestOf, publicPackages } from './entry-points.mjs';
import { cloneInto, describePublished, pack, pendingChanges, registryOf, setVersions } from './packed.mjs';

/** @typedef {import('./entry-points.mjs').Manifest} Manifest */
/** @typedef {import('./packed.mjs').Packed} Packed */

const { values: flags } = parseArgs({ options: { 'dry-run': { type: 'boolean' }, pack: { type: 'string' } } });
if (Boolean(flags['dry-run']) === (flags.pack !== undefined)) {
  console.error('npm run release -- --dry-run, or --pack <folder>. Only the workflow `release` publishes.');
  process.exit(2);
}

const scratch = mkdtempSync(join(tmpdir(), 'ambit-release-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
const clone = join(scratch, 'clone');
mkdirSync(clone);
cloneInto(clone);
prepare();

const tarballs = resolve(flags.pack ?? join(scratch, 'tarballs'));
mkdirSync(tarballs, { recursive: true });
const packages = inOrder(publicPackages(clone).map((folder) => [basename(folder), manifestOf(folder)]));
const packed = pack(
  clone,
  packages.map(([directory]) => `packages/${directory}`),
  tarballs,
);
const registry = registryOf(clone);
const onNpm = await Promise.all(packages.map(([, { name }]) => versionsOnNpm(name)));
/** @type {string[]} */
const lines = [];
for (const [index, [directory, manifest]] of packages.entries()) {
  const { name, version } = manifest;
  const tarball = packed.find((one) => one.name === name);
  const versions = onNpm[index];
  const tag = distTag(version);
  if (!tarball) throw new Error(`npm pack made nothing of ${name}`);
  report(directory, manifest, tarball, versions, tag);
  if (flags['dry-run']) continue;
  if (versions === undefined) throw new Error(`npm does not say which versions of ${name} it has`);
  if (versions.includes(version)) rmSync(join(tarballs, tarball.filename));
  else lines.push(`${tarball.filename} ${name} ${version} ${tag}`);
}
if (flags.pack) {
  writeFileSync(join(tarballs, 'publish.txt'), lines.map((line) => `${line}\n`).join(''));
  console.log(`\n${lines.length} packages to publish in ${flags.pack}`);
} else console.log('\nNothing was published: this was a dry run.');

/** The versions, and what a package says of its repository. */
function prepare() {
  const pending = pendingChanges(clone);
  if (pending.length > 0 && flags.pack)
    throw new Error(`${pending.join(', ')} in .changeset: npm run changeset -- version first, and commit`);
  if (pending.length > 0) {
    setVersions(clone);
    console.log(`With the versions of "npm run changeset -- version", for ${pending.length} changes in .changeset.`);
  }
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_SHA } = process.env;
  if (GITHUB_SERVER_URL && GITHUB_REPOSITORY && GITHUB_SHA)
    describePublished(clone, `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`, GITHUB_SHA);
  else if (flags.pack) throw new Error('GITHUB_SERVER_URL, GITHUB_REPOSITORY and GITHUB_SHA must name the commit');
  else
    console.log(
      'The workflow adds the address of the repository to each manifest, and makes the links of each README absolute.',
    );
}

/** Each after those that it needs, so that nobody can install one whose dependency is missing. @param {[string, Manifest][]} unordered */
function inOrder(unordered) {
  /** @type {[string, Manifest][]} */
  const ordered = [];
  const left = new Map(unordered.map((entry) => [entry[1].name, entry]));
  while (left.size > 0) {
    const ready = [...left.values()].filter(([, { dependencies, peerDependencies }]) =>
      Object.keys({ ...dependencies, ...peerDependencies }).every((name) => !left.has(name)),
    );
    if (ready.length === 0) throw new Error(`${[...left.keys()].join(', ')} need each other`);
    for (const entry of ready) left.delete(entry[1].name);
    ordered.push(...ready);
  }
  return ordered;
}

/** @param {string} name @returns {Promise<string[] | undefined>} the oldest first; `undefined` if npm could not be asked */
async function versionsOnNpm(name) {
  const response = await fetch(new URL(name.replace('/', '%2f'), registry)).catch(() => undefined);
  if (response?.status === 404) return [];
  if (!response?.ok) return undefined;
  const { versions } = /** @type {{ versions: object }} */ (await response.json());
  return Object.keys(versions);
}

/** A version before a release, such as 1.0.0-beta.1, must not be what `npm install` gives everybody. @param {string} version */
function distTag(version) {
  return /-([a-z]+)/.exec(version)?.[1] ?? 'latest';
}

/** @param {string} directory @param {Manifest} manifest @param {Packed} tarball @param {string[] | undefined} versions @param {string} tag */
function report(directory, { name, version }, { filename, size, unpackedSize, files }, versions, tag) {
  const kilobytes = (/** @type {number} */ bytes) => `${(bytes / 1000).toFixed(1)} kB`;
  /** @type {Map<string, number>} */
  const places = new Map();
  for (const { path } of files) {
    const place = path.replace(/\/.*/, '/');
    places.set(place, (places.get(place) ?? 0) + 1);
  }
  const listed = Array.from(places, ([place, inside]) => (place.endsWith('/') ? `${place} (${inside})` : place));
  console.log(`
${name} ${version}
  would     ${intention(name, version, versions, tag)}
  tarball   ${filename}: ${kilobytes(size)}, ${kilobytes(unpackedSize)} unpacked
  files     ${files.length}: ${listed.join(', ')}
  changed   ${changes(directory, name, version).join('\n            ')}`);
}

/** @param {string} name @param {string} version @param {string[] | undefined} versions @param {string} tag */
function intention(name, version, versions, tag) {
  if (versions?.includes(version)) return 'do nothing: npm has this version';
  const before = versions?.at(-1) ? `after ${versions.at(-1)}` : 'the first version';
  const known = versions === undefined ? 'npm could not be asked which versions it has' : before;
  return `publish with the dist-tag ${tag} and provenance (${known}), and tag the commit ${name}@${version}`;
}

/** What the changelog says of this version; of 0.1.0 that is the page at the root. @param {string} directory @param {string} name @param {string} version */
function changes(directory, name, version) {
  const own = `packages/${directory}/CHANGELOG.md`;
  if (existsSync(join(clone, own))) {
    const [, section = ''] = read(own).split(`\n## ${version}\n`);
    return section.split('\n## ')[0]?.split('\n').filter(Boolean) ?? [];
  }
  const entries = read('CHANGELOG.md').split(/^- /m).slice(1);
  // An entry begins with the packages that it is about.
  const named = entries
    .filter((entry) => entry.split(':')[0]?.includes(`\`${name}\``))
    .map((entry) => entry.split('\n\n')[0] ?? '');
  return named.length > 0 ? named.map((entry) => entry.replaceAll(/\s+/g, ' ').trim()) : ['the first version'];
}

/** @param {string} path */
function read(path) {
  return readFileSync(join(clone, path), 'utf8');
}
