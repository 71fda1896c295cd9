import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { nodeBinary } from './binaries.mjs';

const TOOL = '.changeset/node_modules/@changesets/cli/bin.js';

/** The changes that wait for a release. @param {string} root @returns {string[]} their files */
export function pendingChanges(root) {
  return readdirSync(join(root, '.changeset')).filter((name) => name.endsWith('.md') && name !== 'README.md');
}

/**
 * What `npm run changeset -- version` does, in a copy of the repository.
 * @param {string} clone
 */
export function setVersions(clone) {
  if (!existsSync(TOOL)) execFileSync('npm', ['ci', '--silent', '--prefix', '.changeset'], { stdio: 'inherit' });
  execFileSync(nodeBinary('24'), [resolve(TOOL), 'version'], { cwd: clone, stdio: ['ignore', 'ignore', 'inherit'] });
}
