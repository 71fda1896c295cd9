import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * What `git clone` gives, with the changes not committed yet: every file that git does not ignore, so nothing that was built.
 * @param {string} folder
 */
export function copyInto(folder) {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  for (const file of listed.split('\0').filter((name) => name !== '' && existsSync(name)))
    cpSync(file, join(folder, file));
}

/**
 * The same after `npm ci`: with the dependencies of this folder.
 * @param {string} folder
 */
export function cloneInto(folder) {
  copyInto(folder);
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync('node_modules').filter((entry) => entry !== '@ambit'))
    link(join('node_modules', name), folder);
  // The packages import each other, and have to find those of the clone.
  cpSync('node_modules/@ambit', join(folder, 'node_modules/@ambit'), { recursive: true, verbatimSymlinks: true });
  for (const name of readdirSync('packages').map((entry) => join('packages', entry, 'node_modules')))
    if (existsSync(name)) link(name, folder);
}

/** @param {string} name @param {string} folder */
function link(name, folder) {
  symlinkSync(resolve(name), join(folder, name));
}
