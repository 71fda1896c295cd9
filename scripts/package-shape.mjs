// Packs every public package in a fresh clone, as npm would publish it, and examines the tarball: contents, publint,
// are-the-types-wrong.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { cloneInto } from './fresh-clone.mjs';

const MUST_CONTAIN = ['LICENSE', 'README.md', 'package.json'];
/** @type {Record<string, string[]>} */
const MUST_ALSO_CONTAIN = {
  'packages/container': ['skills/ambit/SKILL.md'],
  'packages/inspector': ['dist/page/page.js', 'dist/page/stream.js', 'dist/page/theme.js', 'dist/page/page-style.css'],
};
const MAY_CONTAIN =
  /^(LICENSE|README\.md|package\.json|dist\/.+\.(js|js\.map|d\.ts|css)|assets\/.+\.(css|html|svg)|skills\/.+\.md)$/;

const tarballs = join('.cache', 'tarballs');
rmSync(tarballs, { recursive: true, force: true });
mkdirSync(tarballs, { recursive: true });

const clone = mkdtempSync(join(tmpdir(), 'ambit-clone-'));
process.on('exit', () => rmSync(clone, { recursive: true, force: true }));
cloneInto(clone);

const folders = readdirSync('packages').map((name) => join('packages', name));
for (const folder of folders.filter(isPublic)) {
  const output = execFileSync(
    'npm',
    ['pack', `./${folder}`, '--json', '--loglevel=error', '--pack-destination', resolve(tarballs)],
    { cwd: clone, encoding: 'utf8' },
  );
  /** @type {{ filename: string, files: { path: string }[] }[]} */
  const [packed] = JSON.parse(output);
  if (!packed) throw new Error(`npm pack made nothing of ${folder}`);
  const paths = packed.files.map((file) => file.path);
  for (const path of [...MUST_CONTAIN, ...entriesOf(folder), ...(MUST_ALSO_CONTAIN[folder] ?? [])])
    if (!paths.includes(path)) complain(`${folder}: the tarball lacks ${path}`);
  for (const path of paths) if (!MAY_CONTAIN.test(path)) complain(`${folder}: the tarball has no use for ${path}`);

  const tarball = join(tarballs, packed.filename);
  examine('publint', ['run', tarball, '--strict']);
  examine('attw', [tarball, '--profile', 'esm-only', '--no-emoji', '--no-color']);
}

/** @param {string} folder */
function manifestIn(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** @param {string} folder */
function isPublic(folder) {
  return manifestIn(folder).private !== true;
}

/** The files that `exports` names. @param {string} folder @returns {string[]} */
function entriesOf(folder) {
  /** @type {Record<string, string | Record<string, string>>} */
  const entries = manifestIn(folder).exports;
  return Object.values(entries).flatMap((entry) =>
    (typeof entry === 'string' ? [entry] : Object.values(entry)).map((file) => file.replace('./', '')),
  );
}

/** @param {string} tool @param {string[]} args */
function examine(tool, args) {
  const { status, stdout, stderr } = spawnSync(join('node_modules/.bin', tool), args, { encoding: 'utf8' });
  console.log(stdout);
  if (status !== 0) complain(`${tool} refuses ${args.join(' ')}\n${stderr}`);
}

/** @param {string} problem */
function complain(problem) {
  console.error(problem);
  process.exitCode = 1;
}
