// Packs every public package as npm would publish it and examines the tarball: contents, publint, are-the-types-wrong.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const MUST_CONTAIN = ['LICENSE', 'README.md', 'package.json', 'dist/index.js', 'dist/index.d.ts'];
const MAY_CONTAIN = /^(LICENSE|README\.md|package\.json|dist\/.+\.(js|js\.map|d\.ts)|assets\/.+\.(css|html|svg))$/;

const tarballs = join('.cache', 'tarballs');
rmSync(tarballs, { recursive: true, force: true });
mkdirSync(tarballs, { recursive: true });

const folders = readdirSync('packages').map((name) => join('packages', name));
for (const folder of folders.filter(isPublic)) {
  const output = execFileSync(
    'npm',
    ['pack', `./${folder}`, '--json', '--loglevel=error', '--pack-destination', tarballs],
    {
      encoding: 'utf8',
    },
  );
  /** @type {{ filename: string, files: { path: string }[] }[]} */
  const [packed] = JSON.parse(output);
  if (!packed) throw new Error(`npm pack made nothing of ${folder}`);
  const paths = packed.files.map((file) => file.path);
  for (const path of MUST_CONTAIN) if (!paths.includes(path)) complain(`${folder}: the tarball lacks ${path}`);
  for (const path of paths) if (!MAY_CONTAIN.test(path)) complain(`${folder}: the tarball has no use for ${path}`);

  const tarball = join(tarballs, packed.filename);
  examine('publint', ['run', tarball, '--strict']);
  examine('attw', [tarball, '--profile', 'esm-only', '--no-emoji', '--no-color']);
}

/** @param {string} folder */
function isPublic(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).private !== true;
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
