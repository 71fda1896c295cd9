// Makes a release of every public package in a fresh clone, packs what npm would publish, and examines the tarballs: version, contents,
// are-the-types-wrong, and the links of the page.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programBinary } from './on-node.mjs';
import { entryPointsOf, manifestOf, publicPackages, wrongFields } from './entry-points.mjs';
import { cloneInto, describePublished, pack, setVersions } from './packed.mjs';

const MUST_CONTAIN = ['LICENSE', 'README.md', 'package.json'];
/** @type {Record<string, string[]>} */
const MUST_ALSO_CONTAIN = {
  'packages/create-ambit': [
    'template/postgres/.env.development',
    'template/sqlite/.env.development',
    'template/yarn/.yarnrc.yml',
  ],
  'packages/container': ['dist/errors.md', 'skills/ambit/SKILL.md'],
  'packages/doctor': ['dist/rules.md'],
  'packages/inspector': ['page.js', 'page-style.css', 'licences.txt'].map((file) => `dist/page/${file}`),
};
const MAY_CONTAIN =
  /^(LICENSE|README\.md|package\.json|dist\/.+\.(js|js\.map|d\.c?ts|css)|dist\/(errors|rules)\.md|dist\/page\/licences\.txt|assets\/.+\.(css|html|svg)|skills\/.+\.md|template\/.+\.(ts|json|yaml|yml|sql|development)|template\/every\/\.dockerignore)$/;

const tarballs = join('.cache', 'tarballs');
rmSync(tarballs, { recursive: true, force: true });
mkdirSync(tarballs, { recursive: true });

const clone = mkdtempSync(join(tmpdir(), 'ambit-clone-'));
process.on('exit', () => rmSync(clone, { recursive: true, force: true }));
cloneInto(clone);

const folders = publicPackages('.');
release();
const packed = new Map(pack(clone, folders, tarballs).map((tarball) => [tarball.name, tarball]));
for (const folder of folders) {
  const manifest = manifestOf(folder);
  const { name, version, publishConfig } = manifest;
  const tarball = packed.get(name);
  if (!tarball) throw new Error(`npm pack made nothing of ${name}`);
  for (const field of wrongFields(manifest))
    complain(`${folder}: '${field}' does not agree with the entry points: node tools/entry-points.mjs writes it`);
  if (tarball.version === version) complain(`${folder}: no release follows ${version}`);
  if (publishConfig?.access !== 'public') complain(`${folder} would not be public`);
  const paths = tarball.files.map((file) => file.path);
  for (const path of [...MUST_CONTAIN, ...entriesOf(folder), ...(MUST_ALSO_CONTAIN[folder] ?? [])])
    if (!paths.includes(path)) complain(`${folder}: the tarball lacks ${path}`);
  for (const path of paths) if (!MAY_CONTAIN.test(path)) complain(`${folder}: the tarball has no use for ${path}`);

  const path = join(tarballs, tarball.filename);
  // Node requires ES modules, which these two rules do not know.
  const known = ['--ignore-rules', 'cjs-resolves-to-esm', 'false-cjs'];
  examine([path, '--profile', 'strict', ...known, '--no-emoji', '--no-color']);
  checkPage(join(clone, folder, 'README.md'));
}

/** What the workflow `release` does before it publishes, with a change of every package. */
function release() {
  const changed = folders.map((folder) => `'${manifestOf(folder).name}': patch`).join('\n');
  writeFileSync(join(clone, '.changeset/all.md'), `---\n${changed}\n---\n\nA change.\n`);
  setVersions(clone);
  describePublished(clone, 'https://example.org/ambit', 'HEAD');
}

/** The page of a package is not in the repository, so its links must be absolute, and lead to files. @param {string} readme */
function checkPage(readme) {
  for (const [, to = ''] of readFileSync(readme, 'utf8').matchAll(/\]\(([^)\s]+)\)/g)) {
    const [, path] = /^https:\/\/example\.org\/ambit\/blob\/HEAD\/([^#?]+)/.exec(to) ?? [];
    if (path ? !existsSync(path) : !/^(https?:|#)/.test(to)) complain(`${readme} links to ${to}`);
  }
}

/** The files that `exports` names. @param {string} folder @returns {string[]} */
function entriesOf(folder) {
  return entryPointsOf(manifestOf(folder))
    .flatMap(({ file, types, typesOfRequire }) => [file, types, typesOfRequire])
    .map((file) => file.replace('./', ''));
}

/** @param {string[]} args of are-the-types-wrong */
function examine(args) {
  const { status, stdout, stderr } = spawnSync(programBinary('attw'), args, { encoding: 'utf8' });
  console.log(stdout);
  if (status !== 0) complain(`attw refuses ${args.join(' ')}\n${stderr}`);
}

/** @param {string} problem */
function complain(problem) {
  console.error(problem);
  process.exitCode = 1;
}
